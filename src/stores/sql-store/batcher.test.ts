/** The batcher, with batches that the test answers. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { claimOf } from '../../../test/chaos/claims.ts'
import type { Claim } from '../../domain/claim.ts'
import { ConflictError, StoreContendedError, StoreUnavailableError } from '../../errors.ts'
import type { Scheduler } from '../../scheduler.ts'
import { systemScheduler } from '../../scheduler.ts'
import type { ClaimAnswer } from '../../store.ts'
import { Batcher } from './batcher.ts'
import type { BatchAnswer } from './batcher.ts'
import { subjectOf } from '../verbs/runs/claim-runs.ts'

interface Batch {
  readonly claims: readonly Claim[]
  readonly names: readonly string[]
  readonly beside: boolean
  answer(answers?: readonly BatchAnswer<ClaimAnswer>[]): Promise<void>
  fail(error: Error): Promise<void>
}

/** Every claim is named by its actor; the batches are in the order in which they left. */
function batcherByHand() {
  const batches: Batch[] = []
  const batcher = new Batcher<Claim, ClaimAnswer>({
    run: (claims, beside) =>
      new Promise((resolve, reject) => {
        batches.push({
          claims,
          beside,
          names: claims.map(({ actor }) => actor),
          async answer(answers = claims.map(answerOf)) {
            resolve(answers)
            await nextTurn()
          },
          async fail(error) {
            reject(error)
            await nextTurn()
          },
        })
      }),
    ...claimsOptions,
    scheduler: systemScheduler,
  })
  return { batcher, batches }
}

const claimsOptions = { keyOf: subjectOf, evenSizes: true, batchMax: 32, underWayMax: 2 }

const answerOf = ({ actor }: Claim): ClaimAnswer => ({
  reason: 'new',
  process: true,
  runKey: actor,
  run: null,
  supersededKeys: [],
  supersededRunIds: [],
  lease: null,
  taken: null,
  unclear: false,
  decisionId: 1,
})

const claim = (name: string, pr: number): Claim =>
  claimOf({ pr, head: name, secret: null, leaseMs: 1000, actor: name, now: 0 })

it('the batcher sends claims of one turn together, one per subject, in order', async () => {
  const { batcher, batches } = batcherByHand()
  const names = ['a1', 'b1', 'a2', 'c1', 'b2', 'd1', 'a3']
  const all = names.map((name) => batcher.ask(claim(name, name.charCodeAt(0))))
  await nextTurn()
  expect(batches[0]!.names).toEqual(['a1', 'b1', 'c1', 'd1'])
  await batches[0]!.answer()
  for (let i = 1; i < batches.length; i++) await batches[i]!.answer()
  const order = batches.flatMap(({ names }) => names).filter((name) => name.startsWith('a'))
  expect(order).toEqual(['a1', 'a2', 'a3'])
  const answers = await Promise.all(all)
  expect(answers.map(({ runKey }) => runKey)).toEqual(names)
})

it('the batcher sends batches in powers of two, one directly after the other', async () => {
  const { batcher, batches } = batcherByHand()
  const all = [1, 2, 3, 4, 5, 6, 7].map((pr) => batcher.ask(claim(`n${pr}`, pr)))
  await nextTurn()
  await nextTurn()
  expect(batches.map(({ names }) => names)).toEqual([
    ['n1', 'n2', 'n3', 'n4'],
    ['n5', 'n6'],
  ])
  for (let i = 0; i < batches.length; i++) await batches[i]!.answer()
  await Promise.all(all)
})

it('the batcher sends no claim while an earlier one of its subject is under way', async () => {
  const { batcher, batches } = batcherByHand()
  const first = batcher.ask(claim('a1', 1))
  await nextTurn()
  const later = [batcher.ask(claim('a2', 1)), batcher.ask(claim('b1', 2))]
  await nextTurn()
  expect(batches.map(({ names }) => names)).toEqual([['a1'], ['b1']])
  await batches[0]!.answer()
  await nextTurn()
  expect(batches[2]!.names).toEqual(['a2'])
  await Promise.all(batches.map((batch) => batch.answer()))
  await Promise.all([first, ...later])
})

it('the batcher has at most two bounded batches open, however many claims come', async () => {
  const { batcher, batches } = batcherByHand()
  const all = Array.from({ length: 200 }, (_, i) => batcher.ask(claim(`n${i}`, i)))
  await nextTurn()
  await nextTurn()
  expect(batches).toHaveLength(2)
  for (let i = 0; i < batches.length; i++) {
    expect(batches[i]!.names.length).toBeLessThanOrEqual(64)
    await batches[i]!.answer()
    await nextTurn()
  }
  await Promise.all(all)
  expect(batches.flatMap(({ names }) => names)).toHaveLength(200)
})

it('the batcher does nothing while all claims wait for open ones', async () => {
  let turns = 0
  const counting: Scheduler = {
    ...systemScheduler,
    soon(task) {
      turns++
      systemScheduler.soon(task)
    },
  }
  let answer: () => void = () => undefined
  const batcher = new Batcher<Claim, ClaimAnswer>({
    run: (claims) =>
      new Promise((resolve) => {
        answer = () => resolve(claims.map(answerOf))
      }),
    ...claimsOptions,
    scheduler: counting,
  })
  const all = [batcher.ask(claim('a1', 1))]
  await nextTurn()
  all.push(batcher.ask(claim('a2', 1)))
  for (let turn = 0; turn < 50; turn++) await nextTurn()
  expect(turns).toBeLessThan(5)
  answer()
  await nextTurn()
  await nextTurn()
  answer()
  await Promise.all(all)
})

it('the batcher sends a deferred claim again', async () => {
  const { batcher, batches } = batcherByHand()
  const all = [batcher.ask(claim('a', 1)), batcher.ask(claim('b', 2))]
  await nextTurn()
  await batches[0]!.answer([answerOf(claim('a', 1)), 'deferred'])
  await nextTurn()
  expect(batches[1]!.names).toEqual(['b'])
  await batches[1]!.answer()
  expect((await Promise.all(all)).map(({ runKey }) => runKey)).toEqual(['a', 'b'])
})

it('the batcher gives a refusal to the claim it belongs to', async () => {
  const { batcher, batches } = batcherByHand()
  const all = [batcher.ask(claim('a', 1)), batcher.ask(claim('b', 2))]
  await nextTurn()
  const refused = expect(all[0]).rejects.toMatchObject({ code: 'key_conflict' })
  await batches[0]!.answer([new ConflictError('key_conflict', 'no'), answerOf(claim('b', 2))])
  await refused
  expect((await all[1]!).runKey).toBe('b')
})

it('a claim that breaks every batch does not fail the others', async () => {
  const poisoned = new Batcher<Claim, ClaimAnswer>({
    run: async (claims) => {
      if (claims.some(({ actor }) => actor === 'poison')) throw new TypeError('cannot read this')
      return claims.map(answerOf)
    },
    ...claimsOptions,
    scheduler: systemScheduler,
  })
  const names = ['a', 'b', 'poison', 'c']
  const all = await Promise.allSettled(names.map((name, i) => poisoned.ask(claim(name, i))))
  expect(all.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
})

it('claims that wait for other writers do not keep the slots of the batches', async () => {
  const { batcher, batches } = batcherByHand()
  const contended = new StoreContendedError('store_contended', 'held by others')
  const heldUp = [batcher.ask(claim('a', 1)), batcher.ask(claim('b', 2))]
  await nextTurn()
  await batches[0]!.fail(contended)
  const more = [batcher.ask(claim('c', 3))]
  await nextTurn()
  await batches[3]!.fail(contended)
  more.push(batcher.ask(claim('d', 4)))
  await nextTurn()
  const left = batches.map(({ names, beside }) => [...names, ...(beside ? ['beside'] : [])])
  expect(left).toEqual([
    ['a', 'b'],
    ['a', 'beside'],
    ['b', 'beside'],
    ['c'],
    ['c', 'beside'],
    ['d'],
  ])
  const refused = expect(heldUp[0]).rejects.toBe(contended)
  await batches[1]!.fail(contended)
  await refused
  for (const n of [2, 4, 5]) await batches[n]!.answer()
  await Promise.all([heldUp[1], ...more])
  expect(batches).toHaveLength(6)
})

it('all claims fail at once when the store is down, and work when it is back', async () => {
  const { batcher, batches } = batcherByHand()
  const all = Promise.allSettled([1, 2].map((pr) => batcher.ask(claim(`n${pr}`, pr))))
  await nextTurn()
  await batches[0]!.fail(new StoreUnavailableError('store_unreachable', 'away'))
  expect((await all).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(batches).toHaveLength(1)
  const after = batcher.ask(claim('after', 1))
  await nextTurn()
  await batches[1]!.answer()
  expect((await after).runKey).toBe('after')
})

it('the batcher is drained when every claim has an answer', async () => {
  const { batcher, batches } = batcherByHand()
  await batcher.drain()
  const claimed = batcher.ask(claim('a', 1))
  let drained = false
  const draining = batcher.drain().then(() => (drained = true))
  await nextTurn()
  expect(drained).toBe(false)
  await batches[0]!.answer()
  await Promise.all([claimed, draining])
})

it('a claim does not share a batch with an earlier one of its key that was put back', async () => {
  const { batcher, batches } = batcherByHand()
  const all = [1, 2, 3].map((pr) => batcher.ask(claim(`n${pr}`, pr)))
  await nextTurn()
  // Two of three form a batch; the third was put back, and now another claim of its key comes.
  all.push(batcher.ask(claim('n3-again', 3)))
  await nextTurn()
  for (let i = 0; i < batches.length; i++) {
    await batches[i]!.answer()
    await nextTurn()
  }
  expect(batches.map(({ names }) => names)).toEqual([['n1', 'n2'], ['n3'], ['n3-again']])
  await Promise.all(all)
})

it('the time for many claims of one key grows in proportion to their number', async () => {
  const cpuMsFor = async (count: number): Promise<number> => {
    const batcher = new Batcher<Claim, ClaimAnswer>({
      run: (claims) => Promise.resolve(claims.map(answerOf)),
      ...claimsOptions,
      keyOf: () => 'one',
      scheduler: { ...systemScheduler, soon: queueMicrotask },
    })
    const request = claim('a', 1)
    const before = process.cpuUsage()
    await Promise.all(Array.from({ length: count }, () => batcher.ask(request)))
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
  await cpuMsFor(1000)
  const few = Math.min(await cpuMsFor(10_000), await cpuMsFor(10_000))
  // Four times as many claims; with quadratic growth it would take sixteen times as long.
  expect(await cpuMsFor(40_000)).toBeLessThan(10 * few)
})
