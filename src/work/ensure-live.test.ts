// Goal: an effect starts only while the lease is live, however long the store's answers take.
import { pino } from 'pino'
import { expect, it } from 'vitest'
import type { Leased } from '../runs/runs.ts'
import { delay } from '../scheduler.ts'
import { VirtualTime } from '../simulation/virtual-time.ts'
import { LeasedRun } from './held-run.ts'

const leaseMs = 30_000

/** A run that was leased now. `answersAfterMs`: how long each renewal takes; null: it fails. */
function leasedRun(time: VirtualTime, answersAfterMs: readonly (number | null)[]) {
  let renewals = 0
  const runs = {
    async heartbeat() {
      const answer = { fence: 1, leaseMs, expiresAt: time.wallMs() + leaseMs }
      const afterMs = renewals < answersAfterMs.length ? answersAfterMs[renewals] : 0
      renewals++
      if (afterMs == null) throw new Error('the store cannot be reached')
      await delay(time, afterMs)
      return answer
    },
    // Nothing renews it in the background.
    untilLost: (_hold: unknown, _ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
  }
  const run = { id: 'run_1', fence: 1, leaseMs }
  const leased = { run, steps: [], lease: { token: 'token' }, runToken: 'token' }
  const base = { runs, now: () => time.wallMs(), clock: time, scheduler: time, actor: 'node' }
  const log = pino({ level: 'silent' })
  const options = { ...base, log, silenceMs: null }
  const held = new LeasedRun(leased as unknown as Leased, options, time.monotonicMs())
  return { held, renewals: () => renewals }
}

it('renews the lease again if the answer came after its end', async () => {
  const time = new VirtualTime(0)
  const { held, renewals } = leasedRun(time, [2 * leaseMs, 1000])
  await time.pass(leaseMs + 1)
  const live = held.ensureLive().then(() => held.liveMs())
  await time.pass(3 * leaseMs)
  expect(await live).toBe(leaseMs - 1000)
  expect(renewals()).toBe(2)
})

it('asks again if the store cannot be reached', async () => {
  const time = new VirtualTime(0)
  const { held, renewals } = leasedRun(time, [null, null])
  await time.pass(leaseMs + 1)
  const live = held.ensureLive().then(() => held.liveMs())
  await time.pass(5000)
  expect(await live).toBe(leaseMs)
  expect(renewals()).toBe(3)
})

it('asks nobody while the lease is live', async () => {
  const time = new VirtualTime(0)
  const { held, renewals } = leasedRun(time, [])
  await time.pass(leaseMs - 1)
  await held.ensureLive()
  expect(renewals()).toBe(0)
})
