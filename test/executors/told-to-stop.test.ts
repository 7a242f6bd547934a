/**
 * Goal: what a step's function returns after a shutdown has aborted its signal is no result; the
 * step's policy decides, as after a crash.
 * Method: a store in memory that two work loops use one after the other.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openStore } from '../../src/open-store.ts'
import type { StepOptions } from '../../src/run-handler.ts'
import type { Store } from '../../src/store.ts'
import { workWorld } from './work-world.ts'

let store: Store

beforeEach(async () => {
  store = await openStore({ database: { kind: 'sqlite', path: ':memory:' } })
})
afterEach(async () => await store.close())

/** Returns the run after a process was stopped in its step, and another one took the run up. */
async function stoppedInStep(options: StepOptions<string>) {
  const began = Promise.withResolvers<undefined>()
  const first = await workWorld({
    store,
    handlers: {
      job: async (run) => {
        const result = await run
          .step('files', options, async ({ signal }) => {
            began.resolve(undefined)
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
            return 'a part'
          })
          .catch(() => 'without it')
        return { result }
      },
    },
  })
  const id = (await first.claim('job', 'k')).run?.id ?? ''
  await began.promise
  await first.work.stop(0)
  const released = await store.runs.get(id)
  const step = await store.steps.get(id, 'files')
  await first.close()
  expect([released?.state, released?.attempt, step?.state]).toEqual(['pending', 1, 'started'])
  const second = await workWorld({
    store,
    handlers: {
      job: async (run) => ({ result: await run.step('files', options, () => 'all') }),
    },
  })
  const run = await second.ended(id)
  const types = (await second.audit(id)).map(({ type }) => type)
  await second.close()
  expect(types.filter((type) => type === 'step.late')).toHaveLength(1)
  return run
}

it('repeat: it is done again', async () => {
  expect((await stoppedInStep({})).result).toBe('"all"')
})

it('confirm: its own question finds out', async () => {
  const confirm = () => ({ done: 'found' })
  expect((await stoppedInStep({ inDoubt: 'confirm', confirm })).result).toBe('"found"')
})

it('hold: a person finds out', async () => {
  expect((await stoppedInStep({ inDoubt: 'hold' })).state).toBe('waiting')
})
