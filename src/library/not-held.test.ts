/**
 * Goal: whoever names a run key without the type it was claimed with is told that type.
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

test('the type that was claimed is named, and the call with it works', async () => {
  const { runKey } = await holdfast.checkAndClaimRun({ ...claim, type: 'docs' })
  await holdfast.checkAndClaimRun({ ...claim, prNumber: 8, type: 'lint' })
  const completing = await refusalOf(holdfast.completeRun(runKey))
  expect(completing.message).toBe(`${runKey} was let through here as docs, not as review`)
  expect(completing.hint).toBe("Name the type: completeRun(runKey, { type: 'docs' }).")
  const reporting = await refusalOf(holdfast.reportRunStatus(runKey, 'x', { type: 'lint' }))
  expect(reporting.message).toBe(`${runKey} was let through here as docs, not as lint`)
  expect(reporting.hint).toBe("Name the type: reportRunStatus(runKey, status, { type: 'docs' }).")
  await holdfast.reportRunStatus(runKey, 'x', { type: 'docs' })
  expect(await holdfast.completeRun(runKey, { type: 'docs' })).toMatchObject({ type: 'docs' })
})

test('of several types each is named, also when one is completed', async () => {
  const { runKey } = await holdfast.checkAndClaimRun({ ...claim, type: 'docs' })
  await (await holdfast.checkAndClaimRun({ ...claim, type: 'lint' })).complete()
  const { message, hint } = await refusalOf(holdfast.completeRun(runKey))
  expect(message).toBe(`${runKey} was let through here as docs and lint, not as review`)
  expect(hint).toBe(
    "Name the type: completeRun(runKey, { type: 'docs' }) " +
      "or completeRun(runKey, { type: 'lint' }).",
  )
})

test('where nothing was let through under the key, the type is mentioned', async () => {
  const { message, hint } = await refusalOf(holdfast.completeRun('x'))
  expect(message).toBe('x is not held by this instance')
  expect(hint).toMatch(
    /^Complete a run where it was claimed, once, before close\(\), and name its type/,
  )
  const reporting = await refusalOf(holdfast.reportRunStatus('x', 'y'))
  expect(reporting.hint).toMatch(/name its type if that is not review: { type: 'docs' }\.$/)
})
