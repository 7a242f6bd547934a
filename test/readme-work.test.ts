/**
 * Goal: the handler and the `exec` line in the README work as they are shown.
 * Method: both are taken out of the README. The test adds only what the README leaves to its
 * reader: the functions of the handler, and the script.
 */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { installIn } from './exec/exec-world.ts'
import { newPullRequest, sha } from './scenarios/client.ts'
import { databases, type ServerData } from './scenarios/server-data.ts'
import { adminToken, Server } from './scenarios/server.ts'
import { until } from './scenarios/until.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const chapter = (readme.split('## Let Holdfast do the work')[1] ?? '').split('\n## ')[0] ?? ''
const blockOf = (language: string): string =>
  new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(chapter)?.[1] ?? ''

let data: ServerData
let server: Server
const inFolder = (name: string): string => join(data.folder, name)

beforeEach(async () => {
  data = await databases[0]!.makeData()
})
afterEach(async () => {
  await server.stop()
  await data.remove()
})

it('the handler reads the pull request, asks the model and publishes a review', async () => {
  const readersPart = `
    async function loadPullRequest(github, pull_number) {
      const { data } = await github.rest.pulls.get({ owner: 'acme', repo: 'widgets', pull_number })
      return { title: data.title }
    }
    async function askModel({ title }, { key, signal }) {
      if (!key.startsWith('step_') || signal.aborted) throw new Error('wrong arguments')
      return { body: 'On ' + title, blocking: true, summary: 'One remark.' }
    }`
  writeFileSync(inFolder('holdfast.config.ts'), blockOf('ts') + readersPart)
  server = await Server.start(data, { HOLDFAST_WRITE_SPACING_MS: '0', HOLDFAST_COALESCE_MS: '0' })
  const { id } = (await server.admin.claim(newPullRequest()('a', { lease: false }))).body.run
  const run = await until(
    () => server.admin.run(id),
    ({ state }) => !['pending', 'running'].includes(state),
  )
  expect(run).toMatchObject({ state: 'succeeded', verdict: 'failure', summary: 'One remark.' })
  const review = await until(
    () => server.admin.get(`/v1/deliveries?run=${id}&channel=github-review`),
    ({ body }) => (body.items as unknown as { status: string }[])[0]?.status === 'SENT',
  )
  expect(review.body.items).toMatchObject([{ name: 'findings', status: 'SENT' }])
})

it('the line with exec does the work once', async () => {
  server = await Server.start(data)
  writeFileSync(inFolder('review.sh'), '#!/bin/sh\necho reviewed >>done.txt\n', { mode: 0o755 })
  const event = {
    ...{ action: 'opened', number: 7, repository: { id: 1, full_name: 'acme/widgets' } },
    pull_request: {
      ...{ number: 7, updated_at: '2026-01-31T12:00:00Z' },
      ...{ head: { sha: sha('head') }, base: { sha: sha('main') } },
    },
    sender: { login: 'mona', id: 1, type: 'User' },
  }
  writeFileSync(inFolder('event.json'), JSON.stringify(event))
  installIn(data.folder)
  for (const expected of ['Done: review of acme/widgets#7', 'Nothing to do']) {
    expect(await bash(blockOf('sh'))).toEqual([0, expect.stringContaining(expected)])
  }
  expect(readFileSync(inFolder('done.txt'), 'utf8')).toBe('reviewed\n')
})

/** Returns the exit code and what it said. */
async function bash(line: string): Promise<readonly [number | null, string]> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('bash', ['-euo', 'pipefail', '-c', line], {
    cwd: data.folder,
    env: {
      ...{ PATH, HOME, GITHUB_EVENT_PATH: 'event.json', GITHUB_EVENT_NAME: 'pull_request' },
      ...{ HOLDFAST_URL: server.url, HOLDFAST_TOKEN: adminToken },
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const said = await text(child.stderr)
  return [await exited, said]
}
