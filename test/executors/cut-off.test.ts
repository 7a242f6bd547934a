/**
 * Goal: if a command is cut off with its guard, its run goes on at once and does not wait for the
 * end of its lease.
 * Method: a real store in memory, the real work loop, a real guard that is killed.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Executor } from '../../src/executor.ts'
import { commandExecutor } from '../../src/executors/command/command-executor.ts'
import { openStore } from '../../src/open-store.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import type { Store } from '../../src/store.ts'
import { openCommands, parentOf, pidIn } from './commands-world.ts'
import { silent, workWorld, type WorkWorld } from './work-world.ts'

let store: Store
let world: WorkWorld | undefined

beforeEach(async () => {
  store = await openStore({ database: { kind: 'sqlite', path: ':memory:' } })
})

afterEach(async () => {
  await world?.close()
  world = undefined
  await store.close()
})

async function workBy(executor: Executor, attempts: number) {
  const leaseMs = 600_000
  world = await workWorld({ executors: { job: executor }, store, leaseMs, policy: { attempts } })
  const { run } = await world.claim('job', 'k')
  return { id: run!.id, ended: world.ended(run!.id) }
}

it('a command whose guard is lost is started again at once', async (context) => {
  if (process.platform !== 'linux') context.skip('finds the guard in /proc')
  const commands = openCommands()
  const folder = mkdtempSync(join(tmpdir(), 'cut-off-'))
  const script = 'if [ -e pid ]; then exit 0; fi; echo $$ > new; mv new pid; exec sleep 600'
  const executor = commandExecutor(
    { command: ['sh', '-c', script], env: [] },
    {
      ...{ store, commands, folder, scheduler: systemScheduler, log: silent },
      ...{ env: { PATH: process.env['PATH'] }, url: () => 'http://127.0.0.1:1' },
    },
  )
  const { id, ended } = await workBy(executor, 3)
  process.kill(parentOf(await pidIn(join(folder, 'pid'))), 'SIGKILL')
  expect(await ended).toMatchObject({ state: 'succeeded', attempt: 2 })
  const lost = (await world!.audit(id)).find(({ type }) => type === 'run.heartbeat_lost')
  expect(lost).toMatchObject({
    actor: 'executor:test/1',
    data: { why: 'the work was cut off' },
  })
  await commands.close()
})

it('work that is cut off again and again fails', async () => {
  let calls = 0
  const executor: Executor = {
    stopMsMax: 1000,
    async execute() {
      calls += 1
      return Promise.resolve({ end: 'cut_off' })
    },
  }
  const { ended } = await workBy(executor, 2)
  expect(await ended).toMatchObject({ state: 'failed', errorCode: 'attempts_exhausted' })
  expect(calls).toBe(2)
})
