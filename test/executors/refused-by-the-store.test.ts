/**
 * Goal: what the store never takes is not repeated without end. The run ends soon, and says why.
 * Method: a real store in memory. Some of its answers are made-up errors that are no outage.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openStore } from '../../src/open-store.ts'
import type { RunHandler } from '../../src/run-handler.ts'
import type { Store } from '../../src/store.ts'
import { oddErrorsMax } from '../../src/errors.ts'
import { workWorld, type WorkWorld } from './work-world.ts'

let inner: Store
let world: WorkWorld | undefined
let refused: number

beforeEach(async () => {
  inner = await openStore({ database: { kind: 'sqlite', path: ':memory:' } })
  refused = 0
})
afterEach(async () => {
  await world?.close()
  await inner.close()
})

function refuse(): never {
  refused++
  throw new Error('the database does not like this')
}

/** The same object with one function of a part of it replaced. */
function replaced<T extends object>(target: T, name: keyof T, instead: unknown): T {
  return new Proxy(target, {
    get: (whole, asked) => {
      if (asked === name) return instead
      const value: unknown = Reflect.get(whole, asked)
      return typeof value === 'function' ? (value.bind(whole) as unknown) : value
    },
  })
}

async function end(handler: RunHandler, store: Store) {
  world = await workWorld({ handlers: { job: handler }, store })
  const { run } = await world.claim('job', 'k')
  return await world.ended(run!.id)
}

it('the error of a step: the run fails with what the store said', async () => {
  const act: Store['steps']['act'] = async (request) =>
    request.action.do === 'fail' ? refuse() : await inner.steps.act(request)
  const handler: RunHandler = async (run) => {
    await run.step('a', { retries: 0 }, () => Promise.reject(new Error('of the step')))
  }
  const run = await end(handler, replaced(inner, 'steps', replaced(inner.steps, 'act', act)))
  expect(run).toMatchObject({
    state: 'failed',
    errorText: 'Error: the database does not like this',
  })
  expect(refused).toBe(oddErrorsMax)
})

it('the result of a run: the run fails, and its steps keep what they have done', async () => {
  const complete: Store['runs']['complete'] = async (request, key) =>
    request.outcome === 'succeeded' ? refuse() : await inner.runs.complete(request, key)
  const run = await end(
    async (context) => {
      await context.step('a', () => 7)
    },
    replaced(inner, 'runs', replaced(inner.runs, 'complete', complete)),
  )
  expect(run).toMatchObject({ state: 'failed', errorCode: 'result_not_stored' })
  expect(refused).toBe(oddErrorsMax)
  await expect
    .poll(() => inner.steps.get(run.id, 'a'))
    .toMatchObject({ state: 'done', result: '7' })
})

it('thousands of results at once, because a completion carries only a few', async () => {
  const count = 9000
  const sent: number[] = []
  const complete: Store['runs']['complete'] = async (request, key) => {
    sent.push(request.stepResults?.length ?? 0)
    return await inner.runs.complete(request, key)
  }
  const all = Promise.withResolvers<undefined>()
  let begun = 0
  const run = await end(
    async (context) => {
      const one = async (): Promise<void> => {
        if (++begun === count) all.resolve(undefined)
        await all.promise
      }
      await Promise.all(Array.from({ length: count }, (_, i) => context.step(`step-${i}`, one)))
    },
    replaced(inner, 'runs', replaced(inner.runs, 'complete', complete)),
  )
  expect([run.state, run.errorText]).toEqual(['succeeded', null])
  expect(sent).toHaveLength(1)
  expect(sent[0]).toBeLessThanOrEqual(64)
  expect(await inner.steps.get(run.id, `step-${count - 1}`)).toMatchObject({ state: 'done' })
}, 60_000)
