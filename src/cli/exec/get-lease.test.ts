/** Goal: a lost answer, a clock that differs and a purged run lead to no second work and no lie. */
import { beforeEach, describe, expect, it } from 'vitest'
import { seededChance } from '../../../test/seed.ts'
import type { ClaimedView, LeasedView, RunView } from '../../contract/runs.ts'
import { StoreUnavailableError } from '../../errors.ts'
import { delay } from '../../scheduler.ts'
import { VirtualTime } from '../../simulation/virtual-time.ts'
import { UnreachableError } from '../failure.ts'
import { getLease, type Turn } from './get-lease.ts'
import type { RunAccess } from './run-access.ts'

const leaseMs = 60_000
const startedAt = Date.UTC(2026, 0, 31, 12)
const run = (over: Partial<RunView> = {}): RunView =>
  ({
    id: 'run_1',
    key: 'k',
    type: 'build',
    subject: 'k',
    repo: null,
    state: 'running',
    ...over,
  }) as RunView
const granted = (): ClaimedView => ({
  ...{ should_process: true, reason: 'new', run_key: 'k', superseded_run_keys: [] },
  run: run(),
  lease: { token: 'hfl_1', expires_at: '' },
  run_token: 'hfr_run_1.secret',
})
const skipped = (over: Partial<ClaimedView> = {}): ClaimedView => ({
  ...granted(),
  ...{ should_process: false, reason: 'duplicate', lease: null, run_token: null },
  ...over,
})

let time: VirtualTime
let keys: string[]
let said: string[]
let waits: number[]
let turn: Turn | null
let error: unknown
/** The first claim is answered this late. */
let lateMs: number
let interruption: AbortController

beforeEach(() => {
  time = new VirtualTime(startedAt)
  keys = []
  said = []
  waits = []
  turn = null
  error = null
  lateMs = 0
  interruption = new AbortController()
})

/** `claims` are the answers to one claim after the other; the last one is repeated. */
function begin(
  claims: readonly (ClaimedView | Error)[],
  shown?: () => RunView,
  claim = {},
  ms = leaseMs,
): void {
  const access: Pick<RunAccess, 'place' | 'claim' | 'run' | 'lease' | 'heartbeat'> = {
    place: 'the server',
    claim: async (_work, _ms, key) => {
      keys.push(key)
      if (keys.length === 1 && lateMs > 0) await delay(time, lateMs)
      const answer = claims[Math.min(keys.length, claims.length) - 1]!
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
    },
    run: async () => shown?.() ?? run(),
    // The turn comes at the end of the tenth request.
    lease: async ({ waitMs }) => {
      waits.push(waitMs)
      await delay(time, waitMs)
      return waits.length < 10 ? null : ({ ...granted(), steps: [] } as unknown as LeasedView)
    },
    heartbeat: ({ waitMs }) => delay(time, waitMs),
  }
  getLease({
    ...{
      access: access as RunAccess,
      leaseMs: ms,
      wait: true,
      insideRunIds: [],
      worker: 'me',
      clock: time,
      scheduler: time,
    },
    work: { sent: {}, claim: { key: 'k', type: 'build', ...claim } },
    random: seededChance(),
    say: (words) => said.push(words),
    interrupted: interruption.signal,
  }).then(
    (got) => (turn = got),
    (thrown: unknown) => (error = thrown),
  )
}

const away = (): Error => new UnreachableError('unreachable', 'no answer')

describe('a claim without an answer', () => {
  it('is repeated with the same key, and gets the lease that it may already have', async () => {
    begin([away(), new StoreUnavailableError('store_unavailable', 'away'), granted()])
    await time.pass(5000)
    expect(new Set(keys).size).toBe(1)
    expect(keys).toHaveLength(3)
    expect(said).toEqual(['the server does not answer; trying again …'])
    // The lease counts from the first try, which may have been the one that was granted.
    expect(turn).toMatchObject({ held: { runToken: 'hfr_run_1.secret', askedAtMs: 0 } })
  })

  it('is given up after ten seconds', async () => {
    begin([away()])
    await time.pass(9000)
    expect(error).toBeNull()
    await time.pass(3000)
    expect(error).toBeInstanceOf(UnreachableError)
  })
})

describe('an interruption', () => {
  it.each([
    ['a claim that gives the run', 6000, { held: { leaseToken: 'hfl_1' } }],
    ['no claim for longer than a few seconds', 60_000, { interrupted: null, mayHold: true }],
  ])('waits for %s', async (_what, answeredMs, expected) => {
    lateMs = answeredMs
    begin([granted()])
    await time.pass(2000)
    interruption.abort()
    await time.pass(4500)
    expect(turn === null).toBe(answeredMs > 6500)
    await time.pass(1000)
    expect(turn).toMatchObject(expected)
  })

  it('before the first claim leaves nothing behind', async () => {
    interruption.abort()
    begin([granted()])
    await time.pass(1)
    expect([turn, keys]).toEqual([{ interrupted: null, mayHold: false }, []])
  })
})

describe('a short lease', () => {
  it('counts from a moment close to its grant, after a wait for the turn', async () => {
    const pending = run({ state: 'pending' })
    begin([skipped({ reason: 'queued', run: pending })], () => pending, {}, 6000)
    await time.pass(20_000)
    expect(new Set(waits)).toEqual(new Set([2000]))
    expect(turn).toMatchObject({ held: { askedAtMs: 18_000 } })
  })

  it('is renewed before the work starts, if its first try was long ago', async () => {
    begin([away(), away(), away(), away(), granted()], undefined, {}, 6000)
    await time.pass(5000)
    expect(turn).toMatchObject({ held: { askedAtMs: 4000 } })
  })
})

describe('a run that somebody else holds', () => {
  const until = (ms: number): string => new Date(startedAt + ms).toISOString()

  it('is not claimed again while its lease is renewed', async () => {
    begin([skipped()], () => run({ lease_expires_at: until(time.monotonicMs() + leaseMs) }))
    await time.pass(3_600_000)
    expect([keys.length, turn]).toEqual([1, null])
  })

  it('is claimed again, with another key, when its lease has ended', async () => {
    begin([skipped(), granted()], () => run({ lease_expires_at: until(leaseMs) }))
    await time.pass(leaseMs - 1000)
    expect(keys).toHaveLength(1)
    await time.pass(3000)
    expect(new Set(keys).size).toBe(2)
    expect(turn).toMatchObject({ held: {} })
  })

  it('is claimed again by a clock that is an hour behind, after two leases', async () => {
    time.jump(-3_600_000)
    begin([skipped(), granted()], () => run({ lease_expires_at: until(leaseMs) }))
    await time.pass(2 * leaseMs - 2000)
    expect(keys).toHaveLength(1)
    await time.pass(5000)
    expect(turn).toMatchObject({ held: {} })
  })

  it('is claimed rarely by a clock that is an hour ahead', async () => {
    time.jump(3_600_000)
    const held = run({ lease_expires_at: until(leaseMs) })
    begin([skipped({ run: held })], () => held)
    await time.pass(600_000)
    expect(keys.length).toBeGreaterThan(10)
    expect(keys.length).toBeLessThan(30)
  })
})

describe('a run that was purged', () => {
  it('succeeded, if nothing else can be answered duplicate', async () => {
    begin([skipped({ run: null })])
    await time.drain()
    expect(turn).toMatchObject({ ended: { exitCode: 0, outcome: 'succeeded' } })
  })

  it('may have failed, if the event may be an old one', async () => {
    begin([skipped({ run: null })], undefined, { event_at: startedAt, action: 'opened' })
    await time.drain()
    expect(turn).toMatchObject({ ended: { exitCode: 1, outcome: null } })
  })
})
