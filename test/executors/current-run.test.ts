/**
 * Goal: the code of a handler belongs to its run wherever it is called, so that what goes wrong in
 * it is logged with the run. What Holdfast does in the store for it belongs to no run.
 * Method: a real store in memory, the real work loop, handlers of the test.
 */
import { afterEach, expect, it, vi } from 'vitest'
import { currentRun } from '../../src/current-run.ts'
import type { RunHandler } from '../../src/run-handler.ts'
import { workWorld, type WorkWorld } from './work-world.ts'

let world: WorkWorld | undefined

afterEach(async () => {
  await world?.close()
  world = undefined
})

async function start(handler: RunHandler) {
  world = await workWorld({ handlers: { job: handler } })
  const { run } = await world.claim('job', 'k')
  return { opened: world, runId: run?.id ?? '' }
}

const here = (): string | null => currentRun()?.id ?? null
const whenAborted = (signal: AbortSignal, note: () => void): void =>
  signal.addEventListener('abort', note)

it('a listener of the signal belongs to the run, whatever ends the run', async () => {
  const cancelled = Promise.withResolvers<string | null>()
  const ended = Promise.withResolvers<string | null>()
  const working = Promise.withResolvers<null>()
  const { opened, runId } = await start(async ({ key, signal }) => {
    if (key === 'other') return whenAborted(signal, () => ended.resolve(here()))
    await new Promise<void>((resolve) => {
      whenAborted(signal, () => {
        cancelled.resolve(here())
        resolve()
      })
      working.resolve(null)
    })
  })
  await working.promise
  await opened.runs.cancel(runId, 'operator')
  expect(await cancelled.promise).toBe(runId)
  const { run: other } = await opened.claim('job', 'other')
  expect(await ended.promise).toBe(other?.id)
})

it('a step, its timeout and its confirm belong to the run', async () => {
  const seen: Record<string, string | null> = {}
  const { opened, runId } = await start(async (run) => {
    await run.step('a', () => void (seen['function'] = here()))
    seen['after'] = here()
    const confirm = () => {
      seen['confirm'] = here()
      return { done: 1 }
    }
    await run.step('b', { inDoubt: 'confirm', confirm, timeoutMs: 1 }, async ({ signal }) => {
      await new Promise<void>((resolve) => {
        whenAborted(signal, () => {
          seen['timeout'] = here()
          resolve()
        })
      })
      throw new Error('stopped')
    })
  })
  expect((await opened.ended(runId)).state).toBe('succeeded')
  expect(seen).toEqual({ function: runId, after: runId, confirm: runId, timeout: runId })
})

it('what the store does for it belongs to no run', async () => {
  const seen: Record<string, string | null> = {}
  const working = Promise.withResolvers<null>()
  const { opened, runId } = await start(async (run) => {
    await working.promise
    await run.step('a', () => 1)
    await run.status('half')
  })
  const { steps, runs } = opened.store
  const act = steps.act.bind(steps)
  const reportStatus = runs.reportStatus.bind(runs)
  vi.spyOn(steps, 'act').mockImplementation((...args) => {
    seen['step'] = here()
    return act(...args)
  })
  vi.spyOn(runs, 'reportStatus').mockImplementation((...args) => {
    seen['status'] = here()
    return reportStatus(...args)
  })
  working.resolve(null)
  expect((await opened.ended(runId)).state).toBe('succeeded')
  expect(seen).toEqual({ step: null, status: null })
})
