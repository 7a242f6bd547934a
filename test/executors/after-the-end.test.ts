/**
 * Goal: after a handler has returned or thrown, nothing of its run begins, and its run ends after
 * what was still in progress.
 * Method: a real store in memory, the real work loop, handlers that tell what they do.
 */
import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import type { RunContext, RunHandler } from '../../src/run-handler.ts'
import { workWorld, type WorkWorld, type WorkWorldOptions } from './work-world.ts'

let world: WorkWorld | undefined

afterEach(async () => {
  await world?.close()
  world = undefined
})

async function start(handler: RunHandler, more: Partial<WorkWorldOptions> = {}): Promise<string> {
  world = await workWorld({ handlers: { job: handler }, ...more })
  return (await world.claim('job', 'k')).run?.id ?? ''
}

const runNow = async (id: string): Promise<Run | null> => (await world?.store.runs.get(id)) ?? null

describe('a handler that throws while other steps are in progress', () => {
  it('ends its run after their functions, and calls none again', async () => {
    const began = Promise.withResolvers<undefined>()
    const letGo = Promise.withResolvers<undefined>()
    const told = Promise.withResolvers<unknown>()
    let calls = 0
    const id = await start(async (run) => {
      const slow = run.step('slow', { retries: 5 }, async ({ signal }) => {
        calls++
        signal.addEventListener('abort', () => told.resolve(signal.reason))
        began.resolve(undefined)
        await letGo.promise
        throw new Error('again')
      })
      await began.promise
      await Promise.all([slow, run.step('bad', { retries: 0 }, () => Promise.reject(new Error()))])
    })
    expect(await told.promise).toMatchObject({ code: 'ended' })
    expect((await runNow(id))?.state).toBe('running')
    letGo.resolve(undefined)
    expect((await world?.ended(id))?.errorCode).toBe('step_failed')
    await world?.work.stop(10_000)
    expect(calls).toBe(1)
  })

  it('calls no function of a step that waits for its next try', async () => {
    let calls = 0
    const failed = Promise.withResolvers<undefined>()
    const step = Promise.withResolvers<unknown>()
    const id = await start(async (run) => {
      const again = run.step('again', { retries: 1 }, () => {
        calls++
        setImmediate(() => failed.resolve(undefined))
        throw new Error('no')
      })
      again.catch(step.resolve)
      await failed.promise
    })
    expect((await world?.ended(id))?.state).toBe('succeeded')
    expect(await step.promise).toMatchObject({ code: 'ended' })
    expect(calls).toBe(1)
  })
})

describe('a handler that has ended', () => {
  it('cannot do anything with its run', async () => {
    const kept = Promise.withResolvers<RunContext>()
    const id = await start((run) => kept.resolve(run))
    await world?.ended(id)
    const run = await kept.promise
    const output = { channel: 'github-comment', body: 'x' } as const
    const calls = [run.step('a', () => 1), run.status('x'), run.publish('p', output)]
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'ended' })
    expect(run.signal.aborted).toBe(true)
  })

  it('ends its run after the status that it did not wait for', async () => {
    const ended = Promise.withResolvers<undefined>()
    world = await workWorld({
      handlers: {
        job: (run) => {
          void run.status('half way')
          setImmediate(() => ended.resolve(undefined))
        },
      },
    })
    const { runs } = world.store
    const report = runs.reportStatus.bind(runs)
    const letGo = Promise.withResolvers<undefined>()
    const answers: unknown[] = []
    vi.spyOn(runs, 'reportStatus').mockImplementation(async (...args) => {
      await letGo.promise
      const stored = await report(...args)
      answers.push('stored')
      return stored
    })
    const id = (await world.claim('job', 'k')).run?.id ?? ''
    await ended.promise
    expect((await runNow(id))?.state).toBe('running')
    letGo.resolve(undefined)
    expect((await world.ended(id)).state).toBe('succeeded')
    expect(answers).toEqual(['stored'])
  })

  it('does not wait for more than 5 s; what goes on then is stuck', async () => {
    const stuck: string[] = []
    const began = Promise.withResolvers<undefined>()
    const never = new Promise<never>(() => undefined)
    const id = await start(
      async (run) => {
        void run.step('never', () => {
          began.resolve(undefined)
          return never
        })
        await began.promise
        return { result: 'done' }
      },
      { concurrency: 1, leaseMs: 60_000, onStuck: (type) => stuck.push(type) },
    )
    expect((await world?.ended(id))?.result).toBe('"done"')
    expect(stuck).toEqual(['job'])
    expect((await world?.store.steps.get(id, 'never'))?.state).toBe('started')
  }, 20_000)
})

it('10,000 steps leave no listeners behind', async () => {
  let listeners = 0
  const id = await start(
    async (run) => {
      for (let i = 0; i < 10_000; i++) await run.step(`s${i}`, () => i)
      listeners = getEventListeners(run.signal, 'abort').length
    },
    { leaseMs: 60_000 },
  )
  expect((await world?.ended(id))?.state).toBe('succeeded')
  expect(listeners).toBeLessThan(10)
}, 60_000)
