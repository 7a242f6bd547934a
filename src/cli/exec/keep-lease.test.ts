/** Goal: the work stops when the lease is lost or cannot be kept, and never before. */
import { beforeEach, expect, it } from 'vitest'
import { ConflictError, ForbiddenError, StoreContendedError } from '../../errors.ts'
import { VirtualTime } from '../../simulation/virtual-time.ts'
import { UnreachableError } from '../failure.ts'
import type { HeldLease } from './get-lease.ts'
import { keepLease, type KeptLease, type Loss } from './keep-lease.ts'
import type { Renewal } from './run-access.ts'

const leaseMs = 60_000

let time: VirtualTime
let renewals: number[]
let asked: Renewal[]
let said: string[]
let loss: Loss | null
let kept: KeptLease
/** What the server answers, if it does not renew. */
let trouble: Error | null
/** This many requests get no answer at all. */
let hanging: number
let ms: number
/** How long this process was stopped: its clock went on, and no timer has fired yet. */
let stoppedMs: number

beforeEach(() => {
  time = new VirtualTime(0)
  renewals = []
  asked = []
  said = []
  loss = null
  trouble = null
  hanging = 0
  ms = leaseMs
  stoppedMs = 0
})

function begin(): void {
  const held = { run: { id: 'run_1' }, leaseToken: 'hfl_1', askedAtMs: 0 } as HeldLease
  kept = keepLease({
    ...{ held, leaseMs: ms, scheduler: time, say: (words) => said.push(words) },
    clock: { wallMs: () => time.wallMs(), monotonicMs: () => time.monotonicMs() + stoppedMs },
    access: {
      place: 'the server',
      // A long-poll: it answers after `waitMs`, or at once with an error.
      heartbeat: (request, signal) => {
        asked.push(request)
        if (trouble !== null) return Promise.reject(trouble)
        return new Promise((resolve, reject) => {
          if (hanging > 0) {
            hanging -= 1
            return time.after(request.answerMs, () => reject(away()))
          }
          time.after(request.waitMs, () => (trouble === null ? resolve() : reject(trouble)))
          signal.addEventListener('abort', () => reject(new Error('given up')))
        })
      },
    },
    onRenewed: (ms) => renewals.push(ms),
  })
  void kept.lost.then((lost) => (loss = lost))
}

const away = (): Error => new UnreachableError('unreachable', 'no answer')

it('a lease is renewed for as long as the work takes', async () => {
  begin()
  await time.pass(3_600_000)
  expect(loss).toBeNull()
  // A long-poll took a third of the lease, so two thirds are left.
  expect(new Set(renewals)).toEqual(new Set([leaseMs, 40_000]))
  const request = { runId: 'run_1', leaseToken: 'hfl_1', leaseMs }
  expect(asked.slice(0, 2)).toMatchObject([
    { ...request, waitMs: 0 },
    { ...request, waitMs: 20_000 },
  ])
})

it.each(['superseded', 'cancelled', 'lease_lost', 'ended'])('%s ends it at once', async (code) => {
  begin()
  await time.pass(20_000)
  trouble = new ConflictError(code, 'words of the server')
  await time.pass(20_000)
  expect(loss).toMatchObject({ code })
})

it('a server that is away for less than the lease changes nothing', async () => {
  begin()
  await time.pass(30_000)
  trouble = away()
  await time.pass(40_000)
  expect(loss).toBeNull()
  trouble = null
  await time.pass(2000)
  expect(said).toEqual([
    'the server does not answer; trying again. The command may go on for 40 s, until its ' +
      'lease ends.',
    'the server is back.',
  ])
  await time.pass(600_000)
  expect(loss).toBeNull()
})

it('a server that stays away ends it a little before the lease ends', async () => {
  begin()
  await time.pass(30_000)
  trouble = away()
  // The last renewal was asked for at 20 s, so the lease ends at 80 s.
  await time.pass(44_000)
  expect(loss).toBeNull()
  await time.pass(2000)
  expect(loss).toMatchObject({ code: 'away' })
  expect(kept.leftMs()).toBeGreaterThan(3000)
})

it('a busy store and a fault of the server are waited out, a refusal is not', async () => {
  begin()
  await time.pass(20_000)
  trouble = new StoreContendedError('store_contended', 'busy')
  await time.pass(20_000)
  trouble = new Error('an answer that nobody understands')
  await time.pass(10_000)
  expect(loss).toBeNull()
  trouble = new ForbiddenError('forbidden', 'another scope')
  await time.pass(20_000)
  expect(loss).toEqual({ code: 'refused', text: 'another scope' })
})

it.each([1000, 3000, 6000, 20_000, 60_000])(
  'in a lease of %i ms, a heartbeat that nobody answers leaves time for another',
  async (length) => {
    ms = length
    begin()
    // After the first one, which answers at once, comes a long-poll.
    hanging = 1
    await time.pass(10 * length)
    expect([hanging, loss]).toEqual([0, null])
  },
)

it('a lease that ended while this process was stopped is lost before any timer says so', () => {
  begin()
  expect(kept.lossByNow()).toBeNull()
  stoppedMs = leaseMs
  expect(kept.lossByNow()).toMatchObject({ code: 'away' })
})

it('after it was stopped, nothing is lost any more', async () => {
  begin()
  await time.pass(1000)
  kept.stop()
  trouble = new ConflictError('ended', 'completed')
  await time.pass(600_000)
  expect([loss, asked.length]).toEqual([null, 2])
})
