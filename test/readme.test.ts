/**
 * Goal: the chapter "Five minutes with curl" of the README works as written.
 * Method: a real server in an empty folder. Every shell block of that chapter runs in one bash, and
 * the output must contain what the comments promise (`# duplicate`), in that order.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')

let folder: string
let server: ChildProcess

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-readme-'))
})

afterEach(async () => {
  server.kill('SIGTERM')
  await once(server, 'exit')
  rmSync(folder, { recursive: true })
})

async function startServer(): Promise<string> {
  const args = [join(root, 'bin/holdfast.mjs'), 'serve', '--port', '0']
  const { PATH, HOME } = process.env
  server = spawn(process.execPath, args, { cwd: folder, env: { PATH, HOME }, stdio: 'pipe' })
  if (server.stdout === null) throw new Error('the server has no output')
  for await (const line of createInterface({ input: server.stdout })) {
    const url = /^holdfast listening on (http:\S+)$/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error('the server did not start')
}

function chapter(): string {
  const [, after = ''] = readme.split('## Five minutes with curl')
  const [text = ''] = after.split('\n## ')
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map((block) => block[1]).join('\n')
}

/** The output of `why` in the README, without what differs each time. */
function shownStory(): string[] {
  const lines = [...readme.matchAll(/^ {2}\d\d:\d\d:\d\d {2}(.+)$/gm)].map((line) => line[1] ?? '')
  expect(lines.length).toBeGreaterThan(3)
  return [...lines, 'What you can do', 'a worker for review of ccccccc']
}

async function bash(script: string): Promise<string[]> {
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder })
  let output = ''
  shell.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  shell.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(shell, 'close')) as [number]
  expect(code, output).toBe(0)
  return output.trim().split('\n')
}

it('accepts webhooks, detects repeats, supersedes, explains why and finishes', async () => {
  const url = await startServer()
  const script = chapter()
    .replace('http://127.0.0.1:8787', url)
    .replaceAll('npx holdfast', `${process.execPath} ${join(root, 'bin/holdfast.mjs')}`)
  const promised = [...script.matchAll(/ {2,}# ([a-z-]+)$/gm)].map((comment) => comment[1])
  expect(promised).toEqual([
    'accepted',
    'duplicate',
    'same-event',
    'accepted',
    'superseded',
    'succeeded',
  ])
  const printed = await bash(script)
  expect(printed.filter((line) => promised.includes(line))).toEqual(promised)
  const story = printed.join('\n')
  for (const sentence of shownStory()) expect(story).toContain(sentence)
}, 90_000)
