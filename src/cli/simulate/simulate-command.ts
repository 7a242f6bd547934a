/**
 * `holdfast simulate`: runs whole installations under virtual time, with faults drawn from a seed,
 * and checks the rules. For a broken rule it prints the command that repeats the run.
 */
import type { Command } from 'commander'
import { z } from 'zod'
import { fromQuery, wholeNumber } from '../../contract/fields.ts'
import type { SeedResult } from '../../simulation/simulate-seed.ts'
import type { Simulated } from '../../simulation/simulate.ts'
import type { Parsed } from '../connection/connection.ts'
import { exitCodes } from '../failure.ts'
import { printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { paintFor } from '../output/paint.ts'
import { progressOn } from '../output/progress.ts'
import { checkFlags } from '../connection/query-flags.ts'
import { jsonReport, textReport } from './simulate-report.ts'
import type { World } from '../world.ts'

/** About twenty seconds of work. */
const seedsDefault = 100
const seedsMax = 1_000_000
const seedMax = 2 ** 31

const flags = z.strictObject({
  seeds: fromQuery(wholeNumber(1, seedsMax)).optional(),
  seed: fromQuery(wholeNumber(0, seedMax)).optional(),
})

export function addSimulateCommand(
  program: Command,
  world: World,
  finish: (exitCode: number) => void,
): void {
  program
    .command('simulate')
    .summary('run whole installations with simulated faults, and check the rules')
    .description(
      'Runs whole installations in one process under virtual time: real intake, runs and ' +
        'publishing against a simulated GitHub. Crashes, pauses, lost answers, limits and ' +
        'actions of people are drawn from a seed. Then checks what GitHub and the database show ' +
        'against the rules. The same seed gives the same result. Uses no database and no network.',
    )
    .option(
      '--seeds <number>',
      `how many installations, 1 to ${seedsMax} (default: ${seedsDefault}; 1 with --seed)`,
    )
    .option('--seed <number>', `the first seed, 0 to ${seedMax} (default: a random one)`)
    .option('--story', 'print everything that happened, line by line')
    .option('--json', 'print the result as one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  holdfast simulate --seeds 1000
  holdfast simulate --seed 42 --story`,
    )
    .action(async (parsed: Parsed) => {
      const { seed, seeds } = checkFlags(flags, ['seeds', 'seed'], parsed)
      const first = seed ?? world.random.below(seedMax)
      const count = seeds ?? (seed === undefined ? seedsDefault : 1)
      const { broken } = await runSeeds(world, parsed, first, count)
      if (broken.length > 0) finish(exitCodes.failed)
    })
}

async function runSeeds(
  world: World,
  parsed: Parsed,
  first: number,
  count: number,
): Promise<Simulated> {
  const { simulate } = await import('../../simulation/simulate.ts')
  const progress = progressOn(world.terminal)
  const digests = new Map<number, string>()
  const simulated = await simulate({
    seeds: Array.from({ length: count }, (_, at) => first + at),
    clock: world.clock,
    onSeed: (result, done) => {
      digests.set(result.seed, result.digest)
      if (parsed['story'] === true && parsed['json'] !== true) printStory(world, result)
      else progress.show(`${done} of ${count} seeds …`)
    },
  })
  progress.end()
  const { terminal } = world
  const seedRuns = { simulated, first, asked: count, digests }
  if (parsed['json'] === true) printJson(terminal, jsonReport(seedRuns))
  else printText(terminal, textReport(seedRuns, paintFor(terminal.colour)))
  return simulated
}

function printStory({ terminal }: World, { seed, story }: SeedResult): void {
  terminal.out(`seed ${seed}\n${story.join('\n')}\n\n`)
}
