/**
 * Goal: the README's five minutes work as they stand.
 * Method: a real server in an empty folder; every shell block of that chapter runs in one bash, and
 * what a comment promises (`# duplicate`) must come out, in that order.
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
  const [, rest = ''] = readme.split('## Five minutes with curl')
  const [text = ''] = rest.split('\n## ')
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map((block) => block[1]).join('\n')
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

it('claims, skips, supersedes and finishes a run as it says', async () => {
  const url = await startServer()
  const script = chapter().replace('http://127.0.0.1:8787', url)
  const promised = [...script.matchAll(/ {2,}# ([a-z-]+)$/gm)].map((comment) => comment[1])
  expect(promised).toEqual(['new', 'duplicate', 'superseded-prior', 'superseded', 'succeeded'])
  const printed = await bash(script)
  expect(printed.filter((line) => promised.includes(line))).toEqual(promised)
  expect(printed.slice(-5)).toEqual([
    'run.succeeded ',
    'run.superseded ',
    'run.claimed superseded-prior',
    'run.claim_skipped duplicate',
    'run.claimed new',
  ])
})
