/**
 * Goal: a store that cannot be reached for a while is waited for. It never becomes the failure of a
 * run.
 * Method: a real store in memory of which single calls fail once, as when its connection is cut.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ConflictError, StoreUnavailableError } from '../../src/errors.ts'
import type { HeldRun } from '../../src/executor.ts'
import { HandledRun } from '../../src/executors/handler/handled-run.ts'
import { openRunGitHub } from '../../src/executors/handler/run-github.ts'
import type { RunClientOptions, RunGitHub } from '../../src/github/run-client.ts'
import { systemClock } from '../../src/clock.ts'
import { systemScheduler, type Scheduler } from '../../src/scheduler.ts'
import { LeasedRun } from '../../src/work/held-run.ts'
import { silent, workWorld, type WorkWorld } from './work-world.ts'

const away = new StoreUnavailableError('store_unreachable', 'the database cannot be reached')

let world: WorkWorld | undefined

afterEach(async () => {
  await world?.close()
  world = undefined
})

/** No time passes between two tries. */
const atOnce: Scheduler = {
  ...systemScheduler,
  after: (_ms, task) => {
    systemScheduler.soon(task)
    return () => undefined
  },
}

/** A run whose lease has ended by its own clock. */
function expired(heartbeat: () => Promise<never> | Promise<{ fence: number; leaseMs: number }>) {
  const run = { id: 'run_1', fence: 1, leaseMs: 1000, deadlineAt: null, repo: 'acme/widgets' }
  const leased = { run, steps: [], lease: { token: 'lt_run_1.secret', expiresAt: 0 }, runToken: '' }
  const waits = () => new Promise<never>(() => undefined)
  return new LeasedRun(
    leased as unknown as ConstructorParameters<typeof LeasedRun>[0],
    {
      runs: { heartbeat: heartbeat as never, untilLost: waits },
      ...{ now: () => 0, clock: systemClock, scheduler: atOnce, log: silent },
      ...{ actor: 'executor:test/1', silenceMs: null },
    },
    systemClock.monotonicMs() - 2000,
  )
}

describe('a lease that has ended by its own clock', () => {
  it('is renewed before an effect, as soon as the store answers', async () => {
    let asked = 0
    const held = expired(async () => {
      if (++asked < 3) throw away
      return { fence: 1, leaseMs: 1000 }
    })
    await held.ensureLive()
    expect(asked).toBe(3)
    expect(held.liveMs()).toBeGreaterThan(0)
  })

  it('ends the wait if the store then says that the run is lost', async () => {
    let asked = 0
    const held = expired(() =>
      Promise.reject(++asked < 3 ? away : new ConflictError('superseded', 'a newer head')),
    )
    await expect(held.ensureLive()).rejects.toMatchObject({ name: 'StopWork', code: 'superseded' })
  })
})

it('a handler starts although its repository cannot be read at first', async () => {
  const held: HeldRun = expired(async () => ({ fence: 1, leaseMs: 1000 }))
  let asked = 0
  const made: RunClientOptions[] = []
  const github = await openRunGitHub(new HandledRun(held), {
    makeClient: (options) => {
      made.push(options)
      return {} as RunGitHub
    },
    connection: {} as RunClientOptions['connection'],
    permissionsOf: () => ({}),
    blocks: {
      blockedUntil: () => (++asked < 4 ? Promise.reject(away) : Promise.resolve(5)),
      block: async () => undefined,
    },
    store: {
      repositories: {
        get: async () => {
          if (++asked < 2) throw away
          return { githubId: 7 } as never
        },
      },
    },
    clock: systemClock,
  })
  github()
  expect(made[0]?.repository).toEqual({ repo: 'acme/widgets', repoGithubId: 7 })
  expect(await made[0]?.blocks.blockedUntil('app')).toBe(5)
})

it('a status is told when the store answers again, and not after a newer one', async () => {
  world = await workWorld({
    handlers: {
      job: async (run) => {
        const first = run.status('first')
        await Promise.all([first, run.status('second')])
        await run.status('third')
      },
    },
    leaseMs: 60_000,
  })
  const { runs } = world.store
  const report = runs.reportStatus.bind(runs)
  const told: string[] = []
  vi.spyOn(runs, 'reportStatus').mockImplementation(async (...args) => {
    const { text } = args[0]
    told.push(text)
    if (told.filter((one) => one === text).length === 1 && text !== 'second') throw away
    return await report(...args)
  })
  const id = (await world.claim('job', 'k')).run?.id ?? ''
  const run = await world.ended(id)
  expect([run.state, run.errorText]).toEqual(['succeeded', null])
  expect(told).toEqual(['first', 'second', 'third', 'third'])
})
