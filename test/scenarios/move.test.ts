/**
 * Goal: an installation grows from one SQLite file to PostgreSQL without anybody noticing but the
 * operator: workers keep their runs, tokens work, the history is there, and the old file is closed.
 * Method: real servers and the real command, as the guide says.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { newPullRequest } from './client.ts'
import type { ServerData } from './server-data.ts'
import { Command, Server, type Ended } from './server.ts'

let database: TestDatabase
let data: ServerData
let server: Server | null = null

beforeEach(async () => {
  database = await freshDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-scenario-'))
  data = {
    folder,
    env: { HOLDFAST_DATA_DIR: folder },
    tamper: () => Promise.reject(new Error('not needed')),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
})
afterEach(async () => {
  await server?.kill()
  server = null
  await data.remove()
  await database.drop()
})

const holdfast = (...args: readonly string[]): Promise<Ended> => new Command(data, args).ended
const move = (...args: readonly string[]) => holdfast('move', '--to', database.url, ...args)

async function serve(env: Readonly<Record<string, string>> = {}): Promise<Server> {
  server = await Server.start(data, env)
  return server
}

/** The lines of the story without their times of waiting. */
const storyOf = (text: string): readonly string[] =>
  (JSON.parse(text) as { story: readonly { text: string }[] }).story.map((line) => line.text)

it('workers and tokens do not notice that the store was moved', async () => {
  const old = await serve()
  const pull = newPullRequest()
  const held = (await old.admin.claim(pull('a'))).body
  const done = (await old.admin.claim(newPullRequest()('b'))).body
  await old.admin.complete(done, 'succeeded', { summary: 'Fine.' })
  const { token } = (await old.admin.post('/v1/tokens', { scope: 'worker', repos: ['acme/*'] }))
    .body
  const story = storyOf((await old.admin.get(`/v1/runs/${done.run.id}/why`)).text)

  expect(await move()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Stop it first. A store is moved while nothing uses it.'),
  })
  await old.stop()
  const moved = await move()
  expect(moved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^run\t2\t[0-9a-f]{64}$/m) })
  expect(moved.stderr).toContain('Every row was compared.')

  for (const args of [['serve'], ['runs'], ['purge'], ['token', 'create', '--scope', 'read']]) {
    const refused = await holdfast(...args)
    expect(refused, args.join()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`This store was moved to ${database.url}`),
    })
  }
  const found = await holdfast('doctor', '--json')
  expect(found.code).toBe(1)
  expect(found.stdout).toContain('store was moved to')

  const now = await serve({ HOLDFAST_DATABASE_URL: database.url })
  expect((await now.admin.heartbeat(held)).status).toBe(200)
  expect((await now.admin.claim(pull('a'))).body.reason).toBe('duplicate')
  expect((await now.admin.complete(held)).body).toMatchObject({ state: 'succeeded' })
  const next = (await now.as(token).claim(newPullRequest()('c'))).body
  expect(next).toMatchObject({ should_process: true, reason: 'new' })
  expect(next.run.fence).toBeGreaterThan(held.run.fence)
  const after = storyOf((await now.admin.get(`/v1/runs/${done.run.id}/why`)).text)
  expect(after.slice(0, story.length)).toEqual(story)

  expect(await move('--undo')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the SQLite file is out of date'),
  })
}, 120_000)

it('a move that nothing has used is taken back', async () => {
  const old = await serve()
  const held = (await old.admin.claim(newPullRequest()('a'))).body
  await old.stop()
  const { stdout } = await move('--json')
  expect(JSON.parse(stdout)).toMatchObject({ outcome: 'moved', to: database.url, replaced: 0 })
  expect(await holdfast('runs', '--database-url', database.url)).toMatchObject({ code: 0 })
  expect(JSON.parse((await move('--undo', '--json')).stdout)).toMatchObject({ outcome: 'undone' })
  const again = await serve()
  expect((await again.admin.heartbeat(held)).status).toBe(200)
}, 120_000)
