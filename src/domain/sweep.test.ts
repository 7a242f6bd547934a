/** What the sweeper does with a run that has no holder, and with one whose holder is gone. */
import { describe, expect, it } from 'vitest'
import { theRun } from '../../test/http/fakes.ts'
import { holdForPerson, type Run } from './run.ts'
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
