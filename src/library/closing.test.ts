/**
 * Goal: after `close()` every call that needs the store is refused with the same error, and active
 * work is told to stop.
 * Method: a real store; calls begin before it closes and are awaited after.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { claim } from '../../test/library/claim.ts'
import type { Gate, Holdfast } from './holdfast.ts'
import { openHoldfast } from './open-holdfast.ts'

const closed = {
  name: 'ConflictError',
  code: 'closed',
  hint: 'Open another one with openHoldfast(), or stop taking events before close().',
}
const comment = { channel: 'github-comment', body: 'x' } as const
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore }
function ignore(): void {
  // Nobody reads it here.
}

let holdfast: Holdfast
let gate: Gate

beforeEach(async () => {
  holdfast = await openHoldfast({ databaseUrl: 'sqlite::memory:' })
  gate = await holdfast.checkAndClaimRun(claim)
})

afterEach(() => holdfast.close())

describe('a call that needs the store', () => {
  const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['gate.report', () => gate.report('reading')],
    ['gate.publish', () => gate.publish('note', comment)],
    ['gate.complete', () => gate.complete()],
    ['reportRunStatus', () => holdfast.reportRunStatus(gate.runKey, 'reading')],
    ['reportRunStatus of another', () => holdfast.reportRunStatus('x', 'reading')],
    ['completeRun', () => holdfast.completeRun(gate.runKey)],
    ['completeRun of another', () => holdfast.completeRun('x')],
    ['purgeOldRuns', () => holdfast.purgeOldRuns()],
    ['checkAndClaimRun', () => holdfast.checkAndClaimRun(claim)],
  ]

  test.each(calls)('such as %s is refused after close()', async (_name, call) => {
    await holdfast.close()
    await expect(call()).rejects.toMatchObject(closed)
  })

  test('is refused with the same error if it was waiting for the store meanwhile', async () => {
    const away = { databaseUrl: 'postgres://nobody@127.0.0.1:1/none' }
    const waiting = await openHoldfast(away, { onStoreError: 'open', log: silent })
    const purging = expect(waiting.purgeOldRuns()).rejects.toMatchObject(closed)
    await waiting.close()
    await purging
  })
})

describe('the signal of a gate', () => {
  test('aborts when the instance closes', async () => {
    await holdfast.close()
    expect(gate.signal.aborted).toBe(true)
    expect(gate.signal.reason).toMatchObject(closed)
  })

  test('does not abort when the run was completed, also if that is repeated', async () => {
    await gate.complete()
    await holdfast.close()
    await expect(gate.complete()).rejects.toMatchObject(closed)
    expect(gate.signal.aborted).toBe(false)
  })

  test('agrees with a completion that is still open', async () => {
    const completing = gate.complete().then(
      () => true,
      () => false,
    )
    await holdfast.close()
    expect(gate.signal.aborted).toBe(!(await completing))
  })
})
