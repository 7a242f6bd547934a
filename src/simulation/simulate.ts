/** Simulates many seeds, one after the other, in one database that is emptied between them. */
import { githubDeclarations } from '../channels/github-channels.ts'
import type { Clock } from '../clock.ts'
import { openSharedMemory, type SharedMemory } from '../open-store.ts'
import type { Scheduler } from '../scheduler.ts'
import { ruleNames, type Rule, type Violation } from './findings.ts'
import type { Mutation } from './node.ts'
import { SeededRandom } from './seeded-random.ts'
import { simulateSeed, type SeedResult } from './simulate-seed.ts'
import { noSituations, type Situations } from './situations.ts'
import { VirtualTime } from './virtual-time.ts'
import { startOfTime } from './world.ts'

export interface SimulateOptions {
  readonly seeds: Iterable<number>
  /** Measures the seeds per second. */
  readonly clock: Clock
  readonly mutation?: Mutation
  readonly onSeed?: (result: SeedResult, done: number) => void
  /** Continue with the next seed after a violation. */
  readonly keepGoing?: boolean
}

export interface Simulated {
  readonly seeds: number
  readonly seedsPerSecond: number
  readonly faults: ReadonlyMap<string, number>
  /** How often each situation occurred; 0 for one that never did. */
  readonly situations: Situations
  readonly checks: ReadonlyMap<Rule, number>
  readonly broken: readonly BrokenSeed[]
  /** The text of each rule. */
  readonly rules: ReadonlyMap<Rule, string>
}

export interface BrokenSeed {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly story: readonly string[]
}

export async function simulate(options: SimulateOptions): Promise<Simulated> {
  const { clock, mutation = {}, onSeed, keepGoing = false } = options
  const runner = openSeedRunner()
  const startedMs = clock.monotonicMs()
  const faults = new Map<string, number>()
  const situations = new Map(noSituations)
  const checks = new Map<Rule, number>()
  const broken: BrokenSeed[] = []
  let seeds = 0
  for (const seed of options.seeds) {
    const result = await runner.run(seed, mutation)
    seeds += 1
    addCounts(faults, result.faultCounts)
    addCounts(situations, result.situations)
    addCounts(checks, result.findings.checks)
    const { violations } = result.findings
    if (violations.length > 0) broken.push({ seed, violations, story: result.story })
    onSeed?.(result, seeds)
    if (violations.length > 0 && !keepGoing) break
  }
  await runner.close()
  const seconds = Math.max(0.001, (clock.monotonicMs() - startedMs) / 1000)
  const rules = new Map(Object.entries(ruleNames) as [Rule, string][])
  return { seeds, seedsPerSecond: seeds / seconds, faults, situations, checks, broken, rules }
}

export interface SeedRunner {
  run(seed: number, mutation: Mutation): Promise<SeedResult>
  close(): Promise<void>
}

/** All seeds share one database, but each has its own time: the database reads the current one. */
export function openSeedRunner(): SeedRunner {
  let time = new VirtualTime(startOfTime)
  const clock: Clock = { wallMs: () => time.wallMs(), monotonicMs: () => time.monotonicMs() }
  const scheduler: Scheduler = {
    soon: (task) => time.soon(task),
    after: (ms, task) => time.after(ms, task),
    afterInBackground: (ms, task) => time.after(ms, task),
  }
  const random = new SeededRandom(0)
  const memory: SharedMemory = openSharedMemory({
    clock,
    scheduler,
    random,
    channels: githubDeclarations,
  })
  const passUntilDone = async (done: Promise<void>): Promise<void> => {
    await time.pass(10)
    await done
  }
  return {
    async run(seed, mutation) {
      time = new VirtualTime(startOfTime)
      await passUntilDone(memory.empty())
      return await simulateSeed({ seed, memory, time, mutation })
    },
    close: () => passUntilDone(memory.close()),
  }
}

function addCounts<K>(all: Map<K, number>, more: ReadonlyMap<K, number>): void {
  for (const [key, count] of more) all.set(key, (all.get(key) ?? 0) + count)
}
