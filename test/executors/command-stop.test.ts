/**
 * Goal: a command has its time to end by itself, however short the lease of its run is, and no time
 * beyond the lease while somebody else may take the run.
 * Method: a real store in memory and the real work loop. The commands only note what is asked of
 * them, and no test waits for the times.
 */
import { afterEach, expect, it } from 'vitest'
import type { Executor, HeldRun, StopReason } from '../../src/executor.ts'
import { commandExecutor } from '../../src/executors/command/command-executor.ts'
import type { CommandEnd, Commands } from '../../src/executors/command/commands.ts'
import { systemScheduler, type Scheduler } from '../../src/scheduler.ts'
import { openStore } from '../../src/open-store.ts'
import { silent, workWorld, type WorkWorld } from './work-world.ts'

let world: WorkWorld | undefined
afterEach(async () => {
  await world?.close()
  await world?.store.close()
  world = undefined
})

const killed: CommandEnd = {
  ...{ exitCode: null, signal: 'SIGTERM', output: '', cutOff: false },
  ...{ failure: null, failureText: null },
}

/** Work on one run begins, and is stopped for this reason. Returns what its command was told. */
async function stopped(reason: StopReason): Promise<readonly string[]> {
  const told: string[] = []
  const ended = Promise.withResolvers<CommandEnd>()
  const begun = Promise.withResolvers<null>()
  let held: HeldRun | undefined
  const commands: Commands = {
    run: () => {
      systemScheduler.soon(() => begun.resolve(null))
      return {
        ended: ended.promise,
        renew: (leaseMs) => told.push(`may live ${leaseMs} ms`),
        stop: () => {
          told.push('stop')
          ended.resolve(killed)
        },
      }
    },
    close: () => Promise.resolve(),
  }
  const scheduler: Scheduler = {
    ...systemScheduler,
    after(ms, task) {
      told.push(`waits ${ms} ms`)
      return systemScheduler.after(0, task)
    },
  }
  const store = await openStore({ database: { kind: 'sqlite', path: ':memory:' } })
  const options = { store, commands, scheduler, folder: '/', log: silent, env: {} }
  const inner = commandExecutor(
    { command: ['true'], env: [] },
    { ...options, url: () => 'http://127.0.0.1:1' },
  )
  const executor: Executor = {
    ...inner,
    execute(run) {
      held = run
      return inner.execute(run)
    },
  }
  world = await workWorld({ executors: { job: executor }, store, leaseMs: 60_000 })
  await world.claim('job', 'k')
  await begun.promise
  held?.stopWork(reason)
  await ended.promise
  return told
}

it('a command that completed its own run has 10 s, and then 5 s after the SIGTERM', async () => {
  expect(await stopped('ended')).toEqual(['may live 16000 ms', 'waits 10000 ms', 'stop'])
})

it.each(['superseded', 'cancelled', 'timeout'] as const)(
  'a command whose run ended as %s has 5 s after the SIGTERM',
  async (reason) => {
    expect(await stopped(reason)).toEqual(['may live 6000 ms', 'stop'])
  },
)

it.each(['lease_lost', 'shutdown', 'held'] as const)(
  'a command whose run goes on elsewhere (%s) does not outlive the lease',
  async (reason) => {
    expect(await stopped(reason)).toEqual(['stop'])
  },
)
