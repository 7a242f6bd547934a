/**
 * Goal: whatever holders, former holders, people and the sweeper do with the steps of one run, in
 * whatever order: a step that has a result is not begun again, and its result does not change.
 * Method: random sequences on one run. After each move the run is rebuilt from its audit alone.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { seed } from '../../seed.ts'
import { decideMove, stepMove } from '../runs/any-order.suite.ts'
import { Auditor } from '../runs/auditor.ts'
import type { StepMove } from '../runs/step-walk.ts'
import { Walk, type Step } from '../runs/walk.ts'
import { useWorld, type OpenStore } from '../world.ts'

/** About a thousand moves, each checked. */
const walks = 25

const job = 1
const lease: Step = { verb: 'lease', subject: job }
const claim: Step = {
  ...{ verb: 'claim', subject: job, head: 'a', eventAt: null, headMaking: true },
  ...{ leased: false, rerun: false },
}

/** The newest lease is 0, the one before it 1. */
const act = (what: StepMove['act'], pick: number, name = 'late'): Step => {
  return { verb: 'step', act: what, name, pick }
}
const lose: readonly Step[] = [{ verb: 'pass', leases: 1 }, { verb: 'sweep' }, lease]

const heldThenLate: readonly Step[] = [act('begin', 0), act('hold', 0), act('record', 0)]
const lateForNext: readonly Step[] = [
  ...[act('begin', 0), ...lose, act('begin', 0), act('hold', 0), act('record', 1), lease],
]

const moves: fc.Arbitrary<readonly Step[]> = fc.oneof(
  { weight: 12, arbitrary: stepMove.map((move) => [move]) },
  { weight: 3, arbitrary: decideMove.map((move) => [move, lease]) },
  {
    weight: 1,
    arbitrary: decideMove.map((move) => {
      return [act('begin', 0, 'decided'), act('hold', 0, 'decided'), move, lease]
    }),
  },
  { weight: 3, arbitrary: fc.constant(lose) },
  // The result comes after the step was held, by its holder or by the next one.
  { weight: 2, arbitrary: fc.constantFrom(heldThenLate, lateForNext) },
  { weight: 1, arbitrary: fc.constant([{ verb: 'release', pick: 0 }, lease]) },
  {
    weight: 1,
    arbitrary: fc.constant([{ verb: 'cancel', pick: 0 }, { verb: 'rerun', pick: 0 }, lease]),
  },
)

export function stepsInAnyOrder(open: OpenStore): void {
  const world = useWorld(open)

  it('no result is lost, changed or ignored', async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(fc.array(moves, { minLength: 10, maxLength: 25 }), async (sequence) => {
        const walk = new Walk(world(), 9)
        const auditor = await Auditor.begin(walk)
        for (const move of [claim, lease, ...sequence.flat()]) {
          await walk.take(move)
          await auditor.check()
        }
        for (const what of walk.steps.seen) seen.add(what)
      }),
      { numRuns: walks, seed },
    )
    const expected = ['began', 'already', 'known', 'recorded', 'held', 'in-doubt', 'not-begun']
    const closings = ['closed by a result', 'closed by a person']
    const wanted = [...expected, ...closings, 'refused']
    expect(wanted.filter((what) => !seen.has(what))).toEqual([])
  }, 120_000)
}
