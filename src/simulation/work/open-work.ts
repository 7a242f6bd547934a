/** Decides by the seed whether the nodes of a world execute runs themselves, and of which types. */
import { withTypeDefaults } from '../../settings/run-types/type-defaults.ts'
import type { Settings } from '../../settings/settings.ts'
import { SeededRandom } from '../seeded-random.ts'
import type { World } from '../world.ts'
import { SimulatedWork } from './simulated-work.ts'

/** So that a world without such work is the same as if there were none. */
const ownSeed = 0x5bd1e995
const sharePercent = 50
const minuteMs = 60_000

/** A type of jobs, which no webhook starts. */
export const jobType = 'build'

type RunTypes = Settings['runs']

/** `types`: those of pull requests. */
export function openWork(
  world: World,
  types: RunTypes,
): { readonly types: RunTypes; readonly work: SimulatedWork | null } {
  const random = new SeededRandom(world.seed ^ ownSeed)
  if (!random.chance(sharePercent)) return { types, work: null }
  const ends = { timeoutMs: 4 * minuteMs, pendingTimeoutMs: 6 * minuteMs, attempts: 4 }
  const concurrency = random.between(1, 3)
  const job = { ...ends, concurrency, status: false, anchor: false } as const
  const { on = {} } = types['review'] ?? {}
  const lint = { on, ...ends, concurrency, status: { context: 'ci/lint' } } as const
  const more = withTypeDefaults({ runs: { [jobType]: job, lint } }).runs
  // Some work on pull requests, too, so that its runs are superseded and publish.
  const worksOnPulls = random.chance(50)
  const { lint: lintType, ...jobs } = more
  const ofPulls = worksOnPulls && lintType !== undefined ? { ...types, lint: lintType } : types
  return {
    types: ofPulls,
    work: new SimulatedWork({
      time: world.time,
      memory: world.memory,
      random,
      types: { ...ofPulls, ...jobs },
      executed: worksOnPulls ? [jobType, 'lint'] : [jobType],
      countFault: (kind) => world.countFault(kind),
      isQuiet: () => world.isQuiet,
      clockChanged: () => world.clockJumps.length > 0,
      onChange: () => world.onAbility(),
      onLeaseLost: () => world.onLeaseLost(),
    }),
  }
}
