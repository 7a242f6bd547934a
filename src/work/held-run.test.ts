/** Goal: how long a command may go on without a sign of life from its process. */
import { expect, it } from 'vitest'
import type { Run } from '../domain/run.ts'
import { systemScheduler } from '../scheduler.ts'
import { LeasedRun } from './held-run.ts'

const minute = 60_000
const [wallMs, monotonicMs] = [Date.UTC(2026, 0, 1), 5000]

/** Just leased, with a lease of a minute. */
function held(silenceMs: number | null, over: Partial<Run> = {}): LeasedRun {
  const run = { id: 'run_1', fence: 1, leaseMs: minute, deadlineAt: wallMs + 60 * minute, ...over }
  const leased = {
    run: run as Run,
    steps: [],
    lease: { token: 'lt_run_1.secret', expiresAt: 0 },
    runToken: '',
  }
  const ignore = (): void => undefined
  const options = {
    runs: {
      heartbeat: () => new Promise<never>(ignore),
      untilLost: () => new Promise<never>(ignore),
    },
    now: () => wallMs,
    clock: { wallMs: () => wallMs, monotonicMs: () => monotonicMs },
    scheduler: systemScheduler,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    actor: 'executor:test/1',
    silenceMs,
  }
  return new LeasedRun(leased, options, monotonicMs)
}

it('as long as its lease, where others may take the run', () => {
  expect(held(null).safeMs()).toBe(minute)
})

it('longer, where nobody takes the run of a silent process', () => {
  expect(held(9 * minute).safeMs()).toBe(9 * minute)
})

it('no longer than the run may take, but at least as long as its lease', () => {
  expect(held(9 * minute, { deadlineAt: wallMs + 3 * minute }).safeMs()).toBe(3 * minute)
  expect(held(9 * minute, { deadlineAt: wallMs + 1 }).safeMs()).toBe(minute)
})

it('as long as its lease, if that is so short that a silence may pass unnoticed', () => {
  expect(held(9 * minute, { leaseMs: 5000 }).safeMs()).toBe(5000)
})
