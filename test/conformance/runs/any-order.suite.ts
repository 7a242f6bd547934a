/**
 * Goal: the rules hold after every step, whatever verbs run in whatever order.
 * Method: random sequences of verbs on three subjects: one supersedes, one queues, one skips. After
 * each step everything is read again and compared with an independent model, which rebuilds every
 * run from the audit alone and computes by itself which events must be stale.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { seed } from '../../seed.ts'
import { Auditor } from './auditor.ts'
import type { DecideMove, StepMove } from './step-walk.ts'
import { Walk, type Step } from './walk.ts'
import { useWorld, type OpenStore } from '../world.ts'

/** About nine hundred steps, each checked. */
const walks = 40

const verbsOnRuns = [
  ...(['succeed', 'fail', 'skip', 'heartbeat', 'release', 'cancel', 'rerun'] as const),
]
const stepActs = ['begin', 'take-over', 'confirm', 'hold', 'record', 'fail'] as const
const verbs = [
  ...['claim', 'lease', ...verbsOnRuns, 'settle', 'pass', 'sweep', 'decide'],
  ...stepActs.map((act) => `step ${act}`),
]

const subject = fc.constantFrom(0, 1, 2)
const head = fc.constantFrom('a', 'b', 'c')
const pick = fc.nat(20)

export const stepMove: fc.Arbitrary<StepMove> = fc.record({
  verb: fc.constant('step' as const),
  // Most steps are begun and end.
  act: fc.constantFrom(...stepActs, 'begin' as const, 'record' as const),
  name: fc.constantFrom('one', 'two', 'three', 'four'),
  // The newest lease can do most.
  pick: fc.constantFrom(0, 0, 0, 0, 1, 2),
})

export const decideMove: fc.Arbitrary<DecideMove> = fc.record({
  verb: fc.constant('decide' as const),
  decision: fc.constantFrom('confirm' as const, 'repeat' as const, 'fail' as const),
  pick,
})

export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      verb: fc.constant('claim' as const),
      subject,
      head,
      eventAt: fc.option(fc.integer({ min: 1, max: 6 })),
      headMaking: fc.boolean(),
      leased: fc.boolean(),
      rerun: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('lease' as const), subject }) },
  {
    weight: 6,
    arbitrary: fc.record({
      verb: fc.constantFrom(...verbsOnRuns),
      pick,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constant('settle' as const),
      pick,
      head,
      eventAt: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 4, arbitrary: stepMove },
  { weight: 1, arbitrary: decideMove },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('pass' as const), leases: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('sweep' as const) }) },
)

export function anyOrder(open: OpenStore): void {
  const world = useWorld(open)

  it('the rules hold after every step', async () => {
    const taken = new Set<string>()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (sequence) => {
        const walk = new Walk(world())
        const auditor = await Auditor.begin(walk)
        for (const each of sequence) {
          await walk.take(each)
          await auditor.check()
          taken.add(each.verb === 'step' ? `step ${each.act}` : each.verb)
        }
      }),
      { numRuns: walks, seed },
    )
    expect([...taken].toSorted()).toEqual(verbs.toSorted())
  }, 120_000)
}
