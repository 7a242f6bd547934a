/**
 * Goal: the simulation finds faults. Each mutant breaks one part of the protocol, and a rule must
 * notice it within the first 200 seeds.
 */
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { simulate } from '../../src/simulation/simulate.ts'
import { claimingMutants } from './mutants/claiming.ts'
import { lookingMutants } from './mutants/looking.ts'
import type { Mutants } from './mutants/mutant.ts'
import { purgingMutants } from './mutants/purging.ts'
import { sendingMutants } from './mutants/sending.ts'
import { steppingMutants } from './mutants/stepping.ts'
import { wakingMutants } from './mutants/waking.ts'

const seedsMax = 200

const mutants: Mutants = {
  ...claimingMutants,
  ...sendingMutants,
  ...lookingMutants,
  ...purgingMutants,
  ...steppingMutants,
  ...wakingMutants,
}

it.each(Object.keys(mutants))('notices: %s', { timeout: 600_000 }, async (name) => {
  const { seed, mutation, rules } = mutants[name]!
  expect(seed).toBeLessThanOrEqual(seedsMax)
  const others = Array.from({ length: seedsMax }, (_, index) => index + 1).filter(
    (other) => other !== seed,
  )
  const seeds = [seed, ...others]
  const { broken } = await simulate({ seeds, clock: systemClock, mutation })
  const [first] = broken
  expect(first, `within ${seedsMax} seeds`).toBeDefined()
  expect(first?.violations.map(({ rule }) => rule)).toContainEqual(expect.toBeOneOf(rules))
})
