/**
 * Goal: the worker in a shell, at the top of the guide to workers, works as written.
 * Method: the block runs in one bash, in the folder of a real server. The output must be what the
 * comments promise, in that order.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { databases, type ServerData } from './scenarios/server-data.ts'
import { Server } from './scenarios/server.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const root = join(import.meta.dirname, '..')
const guide = readFileSync(join(root, 'docs/guides/workers.md'), 'utf8')
const [, block = ''] = /```sh\n(.*?)```/s.exec(guide) ?? []

let data: ServerData
let server: Server

beforeEach(async () => {
  data = await databases[0]!.makeData()
  server = await Server.start(data)
})
afterEach(async () => {
  await server.stop()
  await data.remove()
})

it('leases a run, keeps it, reports and completes it', async () => {
  const promised = [...block.matchAll(/field .* # (\w+)$/gm)].map(([, word]) => word)
  expect(promised).toEqual(['new', 'ok', 'succeeded'])
  const script = block
    .replace('http://127.0.0.1:8787', server.url)
    .replace('npx holdfast', `${process.execPath} ${join(root, 'bin', 'holdfast.mjs')}`)
  const { PATH = '', HOME = '' } = process.env
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: data.folder,
    env: { PATH, HOME, ...data.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise((resolve) => shell.once('close', resolve))
  expect((await text(shell.stdout)).trim().split('\n')).toEqual(promised)
  expect(await exited).toBe(0)
  const { items } = (await server.admin.get('/v1/runs')).body
  expect(items).toMatchObject([{ state: 'succeeded', type: 'review', attempt: 1 }])
})
