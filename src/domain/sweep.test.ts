/** What the sweeper does with a run that has no holder, and with one whose holder is gone. */
import { describe, expect, it } from 'vitest'
import { theRun } from '../../test/http/fakes.ts'
import { holdForPerson, makePending, type Run } from './run.ts'
import { heldStepMs } from './step.ts'
import { loseHolder, sweep } from './sweep.ts'

const at = 1_000_000
const running: Run = { ...theRun, leaseExpiresAt: at, deadlineAt: at * 10, dueAt: at }
const momentAt = (now: number) => ({ now, interruptions: [] })

describe('a run that waits for a decision about a step', () => {
  const held = holdForPerson(running, at + heldStepMs)

  it('has neither a holder nor a deadline, and its holder is remembered', () => {
    expect(held).toMatchObject({ state: 'waiting', leaseHash: null, holder: null, worker: null })
    expect(held).toMatchObject({ deadlineAt: null, leaseExpiresAt: null, availableAt: null })
    expect(held.pastLeaseHashes).toBe(running.leaseHash)
  })

  it('is left alone for 7 days', () => {
    expect(sweep(held, momentAt(at + heldStepMs - 1))).toBeNull()
  })

  it('then fails, and says that nobody decided', () => {
    expect(sweep(held, momentAt(at + heldStepMs))).toMatchObject({
      what: 'failed',
      run: {
        state: 'failed',
        errorCode: 'step_unresolved',
        errorText: 'nobody decided about its held step within 7 days',
      },
    })
  })
})

describe.each(['worker', 'executor'] as const)('a run whose %s is silent', (holder) => {
  it('goes back to the next one', () => {
    expect(sweep({ ...running, holder }, momentAt(at))).toMatchObject({
      what: 'returned',
      run: { state: 'pending', attempt: 2, holder: null },
    })
  })
})

describe('a run that waits for a worker', () => {
  const pendingTimeoutMs = 60_000
  const leaseMs = 1000
  const since = 5_000_000
  const pending: Run = makePending({ ...theRun, pendingTimeoutMs, leaseMs }, since)
  type Times = readonly (readonly [number, number])[]

  /** What the sweeper does this long after the beginning of the wait; times are since then too. */
  const sweptAt = (after: number, times: Times, run = pending) => {
    const interruptions = times.map(([from, to]) => ({
      beganAt: since + from,
      endedAt: since + to,
    }))
    return sweep(run, { now: since + after, interruptions })
  }
  const waitsUntil = (after: number) => ({ what: 'later', run: { dueAt: since + after } })
  const fails = { what: 'failed', run: { errorCode: 'no_worker' } }

  it('fails after its time', () => {
    expect(sweptAt(59_999, [])).toBeNull()
    expect(sweptAt(60_000, [])).toMatchObject(fails)
  })

  it('waits longer by the time in which the store was not served', () => {
    expect(sweptAt(3_610_000, [[10_000, 3_610_000]])).toMatchObject(waitsUntil(3_660_000))
  })

  it.each<[string, Times, number]>([
    [
      'two',
      [
        [10_000, 20_000],
        [30_000, 90_000],
      ],
      130_000,
    ],
    [
      'two that overlap',
      [
        [10_000, 70_000],
        [60_000, 80_000],
      ],
      130_000,
    ],
    ['one from before it', [[-50_000, 70_000]], 130_000],
    ['one after its end', [[61_000, 500_000]], 60_000],
    ['one of unknown length', [[-since, 70_000]], 130_000],
  ])('counts %s', (_what, times, endsAfter) => {
    const end = Math.max(...times.map(([, to]) => to), endsAfter)
    const early = sweptAt(end - 1, times)
    if (endsAfter === 60_000) expect(early).toMatchObject(fails)
    else expect(early).toMatchObject(waitsUntil(endsAfter))
    expect(sweptAt(end, times)).toMatchObject(fails)
  })

  it('gets a lease at least for workers to come back', () => {
    expect(sweptAt(60_100, [[59_900, 60_100]])).toMatchObject(waitsUntil(61_100))
  })

  it('that was put off waits longer by a further interruption, and never twice by one', () => {
    const first = [10_000, 3_610_000] as const
    const putOff = sweptAt(3_610_000, [first])!.run
    const second = [3_620_000, 9_620_000] as const
    // The first one may be forgotten by then.
    for (const known of [[second], [first, second]]) {
      expect(sweptAt(9_620_000, known, putOff)).toMatchObject(waitsUntil(9_660_000))
    }
    expect(sweptAt(3_660_000, [first], putOff)).toMatchObject(fails)
  })
})

describe('a run whose holder is known to be lost', () => {
  it('goes back at once, although its lease is valid', () => {
    expect(loseHolder(running, at - 500)).toMatchObject({
      what: 'returned',
      run: { state: 'pending', attempt: 2, availableAt: at - 500 },
    })
  })

  it('fails after its last attempt', () => {
    const last = { ...running, attempt: running.attemptsMax }
    expect(loseHolder(last, at)).toMatchObject({
      what: 'failed',
      run: { errorCode: 'attempts_exhausted' },
    })
  })
})
