/**
 * Goal: how many runs are done at a time and in which order, and what stops them.
 * Method: a real store in memory, the real work loop, handlers that tell what they do.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { StopWork } from '../../src/executor.ts'
import type { RunContext } from '../../src/run-handler.ts'
import { silent, workWorld, type WorkWorld } from './work-world.ts'

let world: WorkWorld | undefined

afterEach(async () => {
  await world?.close()
  world = undefined
})

/** Handlers that wait until the test lets them go on. */
class Gates {
  readonly began: string[] = []
  readonly #open = new Map<string, () => void>()
  #waiting: (() => void)[] = []
  mostAtOnce = 0
  #inside = 0

  readonly handler = async (run: RunContext): Promise<void> => {
    this.began.push(run.key)
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#inside)
    for (const look of this.#waiting.splice(0)) look()
    await new Promise<void>((resolve, reject) => {
      this.#open.set(run.key, resolve)
      run.signal.addEventListener('abort', () => reject(run.signal.reason as Error))
    }).finally(() => this.#inside--)
  }

  letGo(key: string): void {
    this.#open.get(key)?.()
  }

  async begun(count: number): Promise<void> {
    while (this.began.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }
}

const idOf = ({ run }: { readonly run: { readonly id: string } | null }): string => run?.id ?? ''

describe('slots', () => {
  it('never more than the concurrency, in order, and all end (scenario 56)', async () => {
    const gates = new Gates()
    world = await workWorld({ handlers: { job: gates.handler }, concurrency: 3 })
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`)
    const ids: string[] = []
    for (const key of keys) ids.push(idOf(await world.claim('job', key)))
    for (const [i, key] of keys.entries()) {
      await gates.begun(i + 1)
      gates.letGo(key)
    }
    for (const id of ids) expect((await world.ended(id)).state).toBe('succeeded')
    expect(gates.mostAtOnce).toBe(3)
    expect(gates.began).toEqual(keys)
  })

  it('one after the other within a subject, others beside them (scenario 56)', async () => {
    const gates = new Gates()
    world = await workWorld({ handlers: { job: gates.handler }, concurrency: 5 })
    const first = idOf(await world.claim('job', 'a1', { subject: 'a' }))
    const second = idOf(await world.claim('job', 'a2', { subject: 'a' }))
    await world.claim('job', 'b1', { subject: 'b' })
    await gates.begun(2)
    expect(gates.began.toSorted()).toEqual(['a1', 'b1'])
    gates.letGo('a1')
    expect((await world.ended(first)).state).toBe('succeeded')
    await gates.begun(3)
    expect(gates.began[2]).toBe('a2')
    gates.letGo('a2')
    expect((await world.ended(second)).state).toBe('succeeded')
  })

  it('stuck runs do not keep one waiting that a person asked for (scenario 56)', async () => {
    const gates = new Gates()
    world = await workWorld({ handlers: { job: gates.handler }, concurrency: 1 })
    await world.claim('job', 'stuck')
    await gates.begun(1)
    await world.claim('job', 'automatic')
    const asked = idOf(await world.claim('job', 'asked', { rerun: true }))
    await gates.begun(2)
    expect(gates.began).toEqual(['stuck', 'asked'])
    gates.letGo('asked')
    expect((await world.ended(asked)).state).toBe('succeeded')
  })
})

describe('what stops a run', () => {
  it('a cancel reaches the handler, whose success changes nothing (scenario 64)', async () => {
    const stopped = Promise.withResolvers<unknown>()
    world = await workWorld({
      handlers: {
        job: async ({ signal }) => {
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          stopped.resolve(signal.reason)
        },
      },
    })
    const id = idOf(await world.claim('job', 'k'))
    await expect.poll(async () => (await world?.store.runs.get(id))?.state).toBe('running')
    await world.runs.cancel(id, 'mona')
    expect(await stopped.promise).toMatchObject({ code: 'cancelled' })
    expect(await stopped.promise).toBeInstanceOf(StopWork)
    await world.work.stop(1000)
    expect((await world.store.runs.get(id))?.state).toBe('cancelled')
  })

  it('after that every call on the run throws the reason', async () => {
    const errors = Promise.withResolvers<unknown[]>()
    world = await workWorld({
      handlers: {
        job: async (run) => {
          await new Promise<void>((resolve) =>
            run.signal.addEventListener('abort', () => resolve()),
          )
          const calls = [run.step('a', () => 1), run.status('x')]
          const settled = await Promise.allSettled(calls)
          errors.resolve(
            settled.map((one) => (one.status === 'rejected' ? (one.reason as unknown) : 'done')),
          )
        },
      },
    })
    const id = idOf(await world.claim('job', 'k'))
    await expect.poll(async () => (await world?.store.runs.get(id))?.state).toBe('running')
    await world.runs.cancel(id, 'mona')
    expect(await errors.promise).toEqual([
      expect.objectContaining({ code: 'cancelled' }),
      expect.objectContaining({ code: 'cancelled' }),
    ])
  })

  it('a function that never settles times out and frees its slot (scenario 57)', async () => {
    let calls = 0
    const late = Promise.withResolvers<undefined>()
    const stuck: string[] = []
    world = await workWorld({
      handlers: { job: () => (++calls === 1 ? late.promise : Promise.resolve(undefined)) },
      concurrency: 1,
      policy: { timeoutMs: 20 },
      onStuck: (type) => stuck.push(type),
    })
    const first = idOf(await world.claim('job', 'never'))
    const failed = await world.ended(first)
    expect(failed).toMatchObject({ state: 'failed', errorCode: 'timeout' })
    const second = idOf(await world.claim('job', 'next'))
    await expect
      .poll(async () => (await world?.store.runs.get(second))?.state, { timeout: 10_000 })
      .toBe('succeeded')
    expect(stuck).toEqual(['job'])
    late.resolve(undefined)
    await world.work.stop(0)
    expect((await world.store.runs.get(first))?.state).toBe('failed')
  }, 20_000)
})

describe('a result that comes late', () => {
  const began = () => Promise.withResolvers<undefined>()

  it('is stored although its run was lost, because the effect has happened', async () => {
    const [doing, letGo] = [began(), began()]
    world = await workWorld({
      handlers: {
        job: async (run) => {
          await run.step('a', async () => {
            doing.resolve(undefined)
            await letGo.promise
            return 'done'
          })
        },
      },
      leaseMs: 60_000,
    })
    const id = idOf(await world.claim('job', 'k'))
    await doing.promise
    // Elsewhere, so this process has not noticed it when the function returns.
    await world.store.runs.cancel(id, 'mona', null)
    letGo.resolve(undefined)
    await expect.poll(async () => (await world?.store.steps.get(id, 'a'))?.state).toBe('done')
    const rows = await world.audit(id)
    expect(rows.find(({ type }) => type === 'step.late')?.data).toMatchObject({ counted: true })
    expect((await world.store.runs.get(id))?.state).toBe('cancelled')
  })

  it('is no error in the log if the run was cancelled, because nobody needs it', async () => {
    const [doing, letGo] = [began(), began()]
    const errors: unknown[] = []
    const done = Promise.withResolvers<unknown>()
    const log = {
      ...silent,
      warn: (about: unknown) => void errors.push(about),
      error: (about: unknown) => void errors.push(about),
      info: (about: unknown, text?: string) => {
        if (text === 'Done with a run') done.resolve(about)
      },
    }
    world = await workWorld({
      handlers: {
        job: async () => {
          doing.resolve(undefined)
          await letGo.promise
        },
      },
      leaseMs: 60_000,
      log,
    })
    const id = idOf(await world.claim('job', 'k'))
    await doing.promise
    await world.store.runs.cancel(id, 'mona', null)
    letGo.resolve(undefined)
    expect(await done.promise).toMatchObject({ run_id: id, end: 'cancelled' })
    expect(errors).toEqual([])
  })

  it('of a function that was told to stop is no result', async () => {
    const doing = began()
    world = await workWorld({
      handlers: {
        job: async (run) => {
          await run.step('a', async ({ signal }) => {
            doing.resolve(undefined)
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
            return 'a part of it'
          })
        },
      },
    })
    const id = idOf(await world.claim('job', 'k'))
    await doing.promise
    await world.runs.cancel(id, 'mona')
    const late = async () =>
      (await world?.audit(id))?.find(({ type }) => type === 'step.late')?.data ?? null
    await expect.poll(late).toMatchObject({ counted: false, told_to_stop: true })
    expect((await world.store.steps.get(id, 'a'))?.state).toBe('started')
  })
})

describe('stopping', () => {
  it('ignores what a function returns after the stop, and gives its run back', async () => {
    const began = Promise.withResolvers<undefined>()
    world = await workWorld({
      handlers: {
        job: async ({ signal }) => {
          began.resolve(undefined)
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          return { result: 'a part of it' }
        },
      },
    })
    const id = idOf(await world.claim('job', 'a'))
    await began.promise
    await world.work.stop(0)
    const run = await world.store.runs.get(id)
    expect([run?.state, run?.result, run?.attempt]).toEqual(['pending', null, 1])
  })

  it('lets work finish, and takes nothing new', async () => {
    const gates = new Gates()
    world = await workWorld({ handlers: { job: gates.handler } })
    const id = idOf(await world.claim('job', 'a'))
    await gates.begun(1)
    const stopping = world.work.stop(10_000)
    const other = idOf(await world.claim('job', 'b'))
    gates.letGo('a')
    expect(await stopping).toBe(0)
    expect((await world.store.runs.get(id))?.state).toBe('succeeded')
    expect((await world.store.runs.get(other))?.state).toBe('pending')
  })

  it('gives back what does not finish in time, uncounted (scenario 63)', async () => {
    const gates = new Gates()
    world = await workWorld({ handlers: { job: gates.handler } })
    const id = idOf(await world.claim('job', 'a'))
    await gates.begun(1)
    expect(await world.work.stop(0)).toBe(1)
    const run = await world.store.runs.get(id)
    expect([run?.state, run?.attempt]).toEqual(['pending', 1])
  })
})
