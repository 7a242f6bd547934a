/**
 * Goal: once a gate's call is refused because its run is lost, its signal is aborted, so a program
 * that catches the error can tell a lost run from its own mistake.
 * Method: a real store, and a holder whose renewals fail and so cannot report the loss.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claim } from '../../test/library/claim.ts'
import { systemScheduler } from '../scheduler.ts'
import type { Gate, Holdfast } from './holdfast.ts'
import { openHoldfast } from './open-holdfast.ts'

const newer = { ...claim, headSha: 'c'.repeat(40), eventAt: new Date(1000) }
const comment = (body: string) => ({ channel: 'github-comment', body }) as const

let folder: string
let holder: Holdfast
let other: Holdfast
let gate: Gate

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-lost-'))
  const databaseUrl = `sqlite:${join(folder, 'holdfast.db')}`
  const scheduler = { ...systemScheduler, after: () => () => undefined }
  holder = await openHoldfast({ databaseUrl }, { scheduler })
  other = await openHoldfast({ databaseUrl })
  gate = await holder.checkAndClaimRun(claim)
})

afterEach(async () => {
  await Promise.all([holder.close(), other.close()])
  rmSync(folder, { recursive: true })
})

test.each([
  ['report', () => gate.report('reading')],
  ['publish', () => gate.publish('note', comment('x'))],
  ['complete', () => gate.complete()],
  ['reportRunStatus', () => holder.reportRunStatus(gate.runKey, 'reading')],
])('%s that is refused because of a newer head aborts the signal', async (_call, speak) => {
  await other.checkAndClaimRun(newer)
  expect(gate.signal.aborted).toBe(false)
  await expect(speak()).rejects.toMatchObject({ code: 'superseded' })
  expect(gate.signal.reason).toMatchObject({ code: 'superseded' })
})

test('a mistake of the caller, or a call after the end, does not abort the signal', async () => {
  await gate.publish('note', comment('x'))
  const differs = gate.publish('note', comment('y'))
  await expect(differs).rejects.toMatchObject({ code: 'content_differs' })
  await gate.complete()
  await expect(gate.report('late')).rejects.toMatchObject({ code: 'ended' })
  expect(gate.signal.aborted).toBe(false)
})
