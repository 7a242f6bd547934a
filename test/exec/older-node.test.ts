/**
 * Goal: with an older Node, which starts a newer one for the work, SIGKILL leaves nothing behind.
 * Method: the real program in a Node that says that it is an older one.
 */
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { untilDead } from '../executors/commands-world.ts'
import { databases } from '../scenarios/server-data.ts'
import { ExecWorld, newJob, untilStopped } from './exec-world.ts'

vi.setConfig({ testTimeout: 60_000 })

const version = "Object.defineProperty(process, 'version', { value: 'v20.20.2' })"
const old = ['--import', `data:text/javascript,${encodeURIComponent(version)}`]

let world: ExecWorld

beforeEach(async () => {
  world = await ExecWorld.open(databases[0]!.makeData)
})
afterEach(() => world.close())

it('ends the script and the run', async () => {
  const script = `env >$AT/env; ${untilStopped}`
  const args = ['exec', ...newJob(), '--', 'sh', '-c', script]
  const starter = spawn(process.execPath, [...old, resolve('bin/holdfast.mjs'), ...args], {
    cwd: world.data.folder,
    env: { PATH: process.env['PATH'], AT: world.data.folder, ...world.data.env },
    stdio: 'ignore',
  })
  const pid = Number(await world.written('pid'))
  expect(await world.written('env')).not.toMatch(/HOLDFAST_INNER|NODE_CHANNEL/)
  starter.kill('SIGKILL')
  await untilDead(pid)
  await vi.waitUntil(async () => (await world.runs())[0]?.state === 'failed', {
    timeout: 30_000,
    interval: 300,
  })
})
