// Goal: workers that wait share one look at the store, also with limited tokens.
import { githubDeclarations } from '../channels/github-channels.ts'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { pullRequestClaim } from '../../test/conformance/claims.ts'
import { systemClock } from '../clock.ts'
import type { TokenLimits } from '../domain/token-limits.ts'
import { systemRandom } from '../random.ts'
import { systemScheduler } from '../scheduler.ts'
import { runPolicy } from '../settings/run-types/run-policy.ts'
import { withTypeDefaults } from '../settings/run-types/type-defaults.ts'
import { replaceParts } from '../simulation/replace-parts.ts'
import type { Store } from '../store.ts'
import { openSqlite } from '../stores/open-sqlite.ts'
import { createRuns } from './create-runs.ts'

const machine = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }
const types = withTypeDefaults({})
let store: Store
beforeEach(
  () =>
    void (store = openSqlite(
      { path: ':memory:', exclusive: false },
      { ...machine, channels: githubDeclarations },
    )),
)
afterEach(() => store.close())

/** Twenty workers that wait, each with a token of these limits; the test lets time pass. */
function crowd(limits: TokenLimits) {
  const timers = new Map<() => void, number>()
  let leases = 0
  const lease: Store['runs']['lease'] = (...asked) => {
    leases += 1
    return store.runs.lease(...asked)
  }
  const counting = replaceParts(store, { runs: replaceParts(store.runs, { lease }) })
  const after = (ms: number, task: () => void) => {
    timers.set(task, ms)
    return () => void timers.delete(task)
  }
  const runs = createRuns({
    ...machine,
    scheduler: { ...systemScheduler, after, afterInBackground: after },
    store: counting,
    log: pino({ level: 'silent' }),
    leaseMs: 60_000,
    policyOf: (type, kind) => runPolicy({ ...types, locale: 'en', githubAppId: null }, type, kind),
    headSource: null,
  })
  const stop = new AbortController()
  const got: string[] = []
  const all = Array.from({ length: 20 }, async (_, i) => {
    const worker = { worker: `w${i}`, waitMs: 60_000, within: limits, signal: stop.signal }
    const leased = await runs.lease(worker, 'test')
    if (leased !== null) got.push(leased.run.repo ?? '')
  })
  const turns = async () => {
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
  }
  return {
    got,
    leases: () => leases,
    /** Half a second, for everything that waits for a timer. */
    async pass() {
      await turns()
      const due = [...timers].filter(([, ms]) => ms <= 500)
      for (const [task] of due) timers.delete(task)
      for (const [task] of due) task()
      await turns()
    },
    async end() {
      stop.abort()
      await Promise.all(all)
    },
  }
}

const pendingRun = (repo: string, type: string) =>
  store.runs.claim({ ...pullRequestClaim({ repo, pr: 5, head: 'a' }), type, lease: null }, null)

it.each<[string, TokenLimits]>([
  ['type', { repositories: null, types: ['review'] }],
  ['repository', { repositories: [{ pattern: 'acme/*', repositoryId: null }], types: null }],
])('workers limited by %s lease nothing while no run matches', async (_by, limits) => {
  const workers = crowd(limits)
  await pendingRun('corp/other', 'docs')
  for (let half = 0; half < 5; half += 1) await workers.pass()
  // Each asks once, before it waits.
  expect(workers.leases()).toBe(20)
  // As another process does it: no bell rings here.
  await pendingRun('acme/app', 'review')
  await workers.pass()
  expect(workers.got).toEqual(['acme/app'])
  await workers.end()
})
