/**
 * Goal: the examples in the documentation work.
 * Method: every example runs as a reader would run it, in its own process.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, expect, it } from 'vitest'

const run = promisify(execFile)

async function output(example: string): Promise<string> {
  const path = fileURLToPath(new URL(example, import.meta.url))
  return (await run(process.execPath, [path])).stdout
}

it('the gate works once, skips the copy, and stops work that a force-push replaced', async () => {
  expect(await output('gate.ts')).toBe(
    [
      'first delivery: work (new)',
      'second delivery: skip (duplicate)',
      'force-push: work (superseded-prior)',
      "the old run's signal: superseded",
      'its late completion: superseded',
      'the new run: succeeded',
      '',
    ].join('\n'),
  )
})

const root = fileURLToPath(new URL('..', import.meta.url))
const started: ChildProcess[] = []
let folder = ''

afterEach(async () => {
  // In reverse order: the bot stops before its server.
  for (const child of started.splice(0).reverse()) {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  }
  if (folder !== '') rmSync(folder, { recursive: true, force: true })
})

/** Returns its lines, and the first one that matches. */
async function start(args: readonly string[], env: object, ready: RegExp) {
  const { PATH, HOME } = process.env
  const child = spawn(process.execPath, args, { cwd: folder, env: { PATH, HOME, ...env } })
  started.push(child)
  let complaints = ''
  child.stderr.on('data', (text) => (complaints += String(text)))
  const lines: string[] = []
  const waiting = new Set<() => void>()
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line)
    for (const look of waiting) look()
  })
  child.once('exit', () => {
    for (const look of waiting) look()
  })
  const line = async (wanted: RegExp): Promise<string> => {
    for (;;) {
      const found = lines.find((each) => wanted.test(each))
      if (found !== undefined) return found
      if (child.exitCode !== null) throw new Error(complaints)
      await new Promise<void>((resolve) => waiting.add(resolve))
    }
  }
  return { lines, line, first: await line(ready) }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

it('the bot works on an event once, and a server on its database publishes', async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-bot-'))
  cpSync(join(root, 'examples', 'bot'), folder, { recursive: true })
  // As `npm init` creates it.
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'holdfast'))
  const program = join(root, 'bin', 'holdfast.mjs')
  const serving = await start([program, 'serve', '--port', '0'], {}, /^holdfast listening on /)
  const port = await freePort()
  const bot = await start(['bot.mts'], { PORT: port, WEBHOOK_SECRET: 'a secret' }, /^bot listening/)

  const event = {
    action: 'opened',
    repository: { id: 1, full_name: 'acme/widgets' },
    pull_request: {
      number: 7,
      title: 'Fix',
      updated_at: '2026-01-31T12:00:00Z',
      head: { sha: 'a'.repeat(40) },
      base: { sha: 'b'.repeat(40) },
    },
  }
  const body = JSON.stringify(event)
  const signature = createHmac('sha256', 'a secret').update(body).digest('hex')
  const send = async (guid: string, signedAs = signature): Promise<number> => {
    const headers = {
      'x-github-event': 'pull_request',
      'x-github-delivery': guid,
      'x-hub-signature-256': `sha256=${signedAs}`,
    }
    return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body, headers })).status
  }
  expect(await send('0', 'wrong')).toBe(401)
  expect([await send('1'), await bot.line(/done/)]).toEqual([202, '#7: done'])
  expect([await send('2'), await bot.line(/skip/)]).toEqual([202, '#7: skip (duplicate)'])
  expect(bot.lines.slice(0, 2)).toEqual(['bot listening', '#7: work (new)'])

  const url = serving.first.replace('holdfast listening on ', '')
  const token = readFileSync(join(folder, 'data', 'admin-token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${token}` }
  const sent = async (): Promise<readonly string[]> => {
    const answer = await fetch(`${url}/v1/deliveries?status=SENT`, { headers })
    const { items } = (await answer.json()) as { readonly items: readonly { channel: string }[] }
    return items.map(({ channel }) => channel).toSorted()
  }
  await expect.poll(sent, { timeout: 20_000 }).toEqual(['github-comment', 'github-status'])
}, 60_000)
