/**
 * Goal: a run key needs its type only if several types were claimed with it, and then the error
 * names them.
 * Method: runs of several types on the same commits, in a real store.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claim } from '../../test/library/claim.ts'
import { ConflictError } from '../errors.ts'
import type { Holdfast } from './holdfast.ts'
import { openHoldfast } from './open-holdfast.ts'

let holdfast: Holdfast

beforeEach(async () => {
  holdfast = await openHoldfast({ databaseUrl: 'sqlite::memory:' })
})

afterEach(() => holdfast.close())

async function refusalOf(call: Promise<unknown>): Promise<ConflictError> {
  const error: unknown = await call.catch((reason: unknown) => reason)
  if (!(error instanceof ConflictError)) throw new Error('it was not refused')
  expect(error.code).toBe('lease_lost')
  return error
}

test('the claimed type need not be given again', async () => {
  const { runKey } = await holdfast.checkAndClaimRun({ ...claim, type: 'docs' })
  await holdfast.checkAndClaimRun({ ...claim, prNumber: 8, type: 'lint' })
  await holdfast.reportRunStatus(runKey, 'x')
  expect(await holdfast.completeRun(runKey)).toMatchObject({ type: 'docs', state: 'succeeded' })
})

test('the error for a wrong type names the claimed one', async () => {
  const { runKey } = await holdfast.checkAndClaimRun({ ...claim, type: 'docs' })
  await holdfast.checkAndClaimRun({ ...claim, prNumber: 8, type: 'lint' })
  const completing = await refusalOf(holdfast.completeRun(runKey, { type: 'review' }))
  expect(completing.message).toBe(`${runKey} was claimed here with the type docs, not review`)
  expect(completing.hint).toBe("Name the type: completeRun(runKey, { type: 'docs' }).")
  const reporting = await refusalOf(holdfast.reportRunStatus(runKey, 'x', { type: 'lint' }))
  expect(reporting.message).toBe(`${runKey} was claimed here with the type docs, not lint`)
  expect(reporting.hint).toBe("Name the type: reportRunStatus(runKey, status, { type: 'docs' }).")
  await holdfast.reportRunStatus(runKey, 'x', { type: 'docs' })
  expect(await holdfast.completeRun(runKey, { type: 'docs' })).toMatchObject({ type: 'docs' })
})

test('the error for several types names each of them, also when one is completed', async () => {
  const { runKey } = await holdfast.checkAndClaimRun({ ...claim, type: 'docs' })
  await (await holdfast.checkAndClaimRun({ ...claim, type: 'lint' })).complete()
  const { message, hint } = await refusalOf(holdfast.completeRun(runKey))
  expect(message).toBe(`${runKey} was claimed here with the type docs and lint, not review`)
  expect(hint).toBe(
    "Name the type: completeRun(runKey, { type: 'docs' }) " +
      "or completeRun(runKey, { type: 'lint' }).",
  )
})

test('the error says so if nothing was claimed with the key', async () => {
  const { message, hint } = await refusalOf(holdfast.completeRun('x'))
  expect(message).toBe('This instance does not hold a run with the key x')
  expect(hint).toBe('Complete a run in the instance that claimed it, before close().')
  const reporting = await refusalOf(holdfast.reportRunStatus('x', 'y'))
  expect(reporting.hint).toMatch(/^Report on a run in the instance that claimed it/)
})
