/**
 * Goal: after `close()` every call that needs the store says so, in the same words, and whoever is
 * at work is told to stop.
 * Method: a real store; what is under way while it closes is begun before and awaited after.
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

describe('what needs the store', () => {
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

  test.each(calls)('%s is refused after close()', async (_name, call) => {
    await holdfast.close()
    await expect(call()).rejects.toMatchObject(closed)
  })

  test('is refused in the same words when it was waiting for the store meanwhile', async () => {
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

  test('stays as it is when the run was completed, also where that is repeated', async () => {
    await gate.complete()
    await holdfast.close()
    await expect(gate.complete()).rejects.toMatchObject(closed)
    expect(gate.signal.aborted).toBe(false)
  })

  test('says the same as a completion that is under way', async () => {
    const completing = gate.complete().then(
      () => true,
      () => false,
    )
    await holdfast.close()
    expect(gate.signal.aborted).toBe(!(await completing))
  })
})
