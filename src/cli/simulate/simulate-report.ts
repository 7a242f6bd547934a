/** What `holdfast simulate` found, for people and for programs. */
import type { BrokenSeed, Simulated } from '../../simulation/simulate.ts'
import type { Paint } from '../output/paint.ts'

const lastEvents = 40

export interface SeedRuns {
  readonly simulated: Simulated
  readonly first: number
  /** How many seeds were asked for; it stops at the first violation. */
  readonly asked: number
  /** Of each seed's story. */
  readonly digests: ReadonlyMap<number, string>
}

export function textReport(seedRuns: SeedRuns, paint: Paint): string {
  const { seedsPerSecond, faults, situations, checks, broken, rules } = seedRuns.simulated
  const byName = [...faults].toSorted(([a], [b]) => a.localeCompare(b))
  // Sorted here, because a JavaScript object would have 12 before 2b.
  const byNumber = [...rules].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
  const lines = [
    `${seedsWords(seedRuns)}, ${seedsPerSecond.toFixed(1)} seeds per second`,
    '',
    paint('Faults injected', 'bold'),
    ...byName.map(([name, times]) => row(times, name)),
    '',
    paint('Situations reached', 'bold'),
    ...[...situations].map(([name, times]) => row(times, name)),
    '',
    paint('Rules checked', 'bold'),
    ...byNumber.map(([rule, name]) => row(checks.get(rule) ?? 0, `${rule}: ${name}`)),
    '',
    ...(broken.length === 0
      ? [paint('No violations.', 'green')]
      : broken.flatMap((one) => brokenLines(one, paint))),
  ]
  return `${lines.join('\n')}\n`
}

function seedsWords({ simulated: { seeds }, first, asked, digests }: SeedRuns): string {
  if (asked === 1) return `seed ${first} (${digests.get(first)})`
  if (seeds === asked) return `${seeds} seeds from ${first}`
  return `${seeds} of ${asked} seeds from ${first} (stopped at a violation)`
}

function brokenLines({ seed, violations, story }: BrokenSeed, paint: Paint): string[] {
  return [
    paint(`Seed ${seed} breaks ${violations.length === 1 ? 'a rule' : 'rules'}`, 'red'),
    ...violations.map(({ rule, text }) => `  ${rule}: ${text}`),
    '',
    `The last of ${story.length} events:`,
    ...story.slice(-lastEvents),
    '',
    `Repeat it: ${replay(seed)}`,
  ]
}

const row = (count: number, name: string): string => `${String(count).padStart(9)}  ${name}`
const replay = (seed: number): string => `holdfast simulate --seed ${seed}`

export function jsonReport({ simulated, first, asked, digests }: SeedRuns) {
  const { seeds, seedsPerSecond, faults, situations, checks, broken } = simulated
  return {
    seeds,
    seeds_asked: asked,
    first_seed: first,
    seeds_per_second: Math.round(seedsPerSecond * 10) / 10,
    faults: Object.fromEntries(faults),
    situations: Object.fromEntries(situations),
    checks: Object.fromEntries(checks),
    violations: broken.flatMap(({ seed, violations, story }) =>
      violations.map(({ rule, text }) => ({
        seed,
        rule,
        text,
        last_events: story.slice(-lastEvents),
        replay: replay(seed),
      })),
    ),
    ...(asked === 1 && { digest: digests.get(first) }),
  }
}
