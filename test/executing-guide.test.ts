/**
 * Goal: what docs/guides/executing.md gives to try works as it is shown.
 * Method: its handler is the config file of a real server, and its shell blocks run in bash, in the
 * folder of that server. What `runs steps` and `why` print must contain what the comments promise.
 */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { RunJson } from './scenarios/client.ts'
import { databases, type ServerData } from './scenarios/server-data.ts'
import { adminToken, Server } from './scenarios/server.ts'
import { until } from './scenarios/until.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const root = join(import.meta.dirname, '..')
const guide = readFileSync(join(root, 'docs/guides/executing.md'), 'utf8')
const chapter = (guide.split('\n## Try it\n')[1] ?? '').split('\n## ')[0] ?? ''
const blocksOf = (text: string, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(
    ([, code = '']) => code,
  )

let data: ServerData
let server: Server
const inFolder = (name: string): string => join(data.folder, name)

beforeEach(async () => {
  data = await databases[0]!.makeData()
  mkdirSync(inFolder('data'))
  writeFileSync(inFolder('data/admin-token'), adminToken)
})
afterEach(async () => {
  await server.stop()
  await data.remove()
})

/** Returns what it printed. */
async function bash(script: string): Promise<string> {
  const program = `${process.execPath} ${join(root, 'bin', 'holdfast.mjs')}`
  const here = script
    .replace('http://127.0.0.1:8787', server.url)
    .replaceAll('npx holdfast', program)
  const { PATH = '', HOME = '' } = process.env
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', here], {
    ...{ cwd: data.folder, env: { PATH, HOME, ...data.env } },
  })
  return stdout
}

const ended = (id: string): Promise<RunJson> =>
  until(
    () => server.admin.run(id),
    ({ state }) => !['pending', 'running'].includes(state),
  )

it('the handler to paste does a run that is claimed without a lease', async () => {
  const [config = ''] = blocksOf(chapter, 'ts')
  const [claim = '', look = '', ...more] = blocksOf(chapter, 'sh')
  expect(more).toEqual([])
  writeFileSync(inFolder('holdfast.config.ts'), config)
  server = await Server.start(data)
  const id = (await bash(`${claim}\necho $RUN`)).trim()
  expect(await ended(id)).toMatchObject({ state: 'succeeded', summary: 'Hello, Mona!' })
  const promised = [...look.matchAll(/ # (.+)$/gm)].map(([, text = '']) => text.split(/ {2,}/))
  expect(promised).toEqual([['greet', 'done'], ['hello of hello-1 finished']])
  const printed = await bash(`RUN=${id}\n${look}`)
  for (const text of promised.flat()) expect(printed).toContain(text)
})

it('the example with a command builds the pages of the commit that is claimed', async () => {
  cpSync(join(root, 'examples/build-docs'), data.folder, { recursive: true })
  const [claim = ''] = blocksOf(guide, 'sh').filter((block) => block.includes('"type":"docs"'))
  server = await Server.start(data)
  const { run } = JSON.parse(await bash(claim)) as { readonly run: RunJson }
  expect(await ended(run.id)).toMatchObject({
    ...{ state: 'succeeded', summary: 'Built 1 page of `aaaaaaa`.\n' },
    result: { pages: 1, commit: 'a'.repeat(40) },
  })
  expect(existsSync(inFolder('site/start.html'))).toBe(true)
})
