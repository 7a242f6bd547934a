/**
 * Goal: the embedded gate keeps its promises while the store is up, down or shared.
 * Method: real stores (memory and file); the test controls time where it matters.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { systemScheduler } from '../scheduler.ts'
import type { Holdfast } from './holdfast.ts'
import { openHoldfast } from './open-holdfast.ts'

const claim = {
  repo: 'Acme/Widgets',
  prNumber: 7,
  baseSha: 'b'.repeat(40),
  headSha: 'a'.repeat(40),
}
const key = `acme/widgets:pr-7:base-${'b'.repeat(40)}:head-${'a'.repeat(40)}`

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

let folder: string
let databaseUrl: string
const opened: Holdfast[] = []

const silent = { debug: quiet, info: quiet, warn: quiet, error: quiet }
function quiet(): void {
  // The log is not read here.
}

async function open(config: object = {}): Promise<Holdfast> {
  const holdfast = await openHoldfast({ databaseUrl, ...config })
  opened.push(holdfast)
  return holdfast
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-library-'))
  databaseUrl = `sqlite:${join(folder, 'holdfast.db')}`
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((holdfast) => holdfast.close()))
  rmSync(folder, { recursive: true })
})

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    else signal.addEventListener('abort', () => resolve(signal.reason))
  })
}

describe('the gate', () => {
  it('treats a push in the same second as newer, whatever the milliseconds are', async () => {
    const holdfast = await open()
    const second = Date.UTC(2026, 0, 31, 12)
    await holdfast.checkAndClaimRun({ ...claim, action: 'opened', eventAt: new Date(second + 700) })
    const pushed = await holdfast.checkAndClaimRun({
      ...claim,
      headSha: 'c'.repeat(40),
      action: 'synchronize',
      beforeSha: claim.headSha,
      eventAt: new Date(second),
    })
    expect(pushed).toMatchObject({ reason: 'superseded-prior', shouldProcess: true })
  })

  it('orders claims by the times of their events, whichever arrives first', async () => {
    const holdfast = await open()
    const at = (seconds: number) => new Date(Date.UTC(2026, 0, 31, 12, 0, seconds))
    const newer = { ...claim, headSha: 'c'.repeat(40), action: 'synchronize', eventAt: at(2) }
    await holdfast.checkAndClaimRun({ ...newer, beforeSha: claim.headSha })
    const late = await holdfast.checkAndClaimRun({ ...claim, action: 'opened', eventAt: at(1) })
    expect(late).toMatchObject({ reason: 'stale-event', shouldProcess: false })
  })

  it('lets only one of two instances on one database through', async () => {
    const [one, two] = [await open(), await open()]
    const gates = await Promise.all([one.checkAndClaimRun(claim), two.checkAndClaimRun(claim)])
    expect(gates.map(({ reason }) => reason).toSorted()).toEqual(['duplicate', 'new'])
    expect(gates.filter(({ shouldProcess }) => shouldProcess)).toHaveLength(1)
    expect(gates[0].runKey).toBe(key)
  })

  it('shows the run without any hash of its lease', async () => {
    const holdfast = await open()
    const { run } = await holdfast.checkAndClaimRun(claim)
    expect(run).toMatchObject({ key, state: 'running', attempt: 1, round: 1 })
    expect(Object.keys(run ?? {}).filter((name) => /hash/i.test(name))).toEqual([])
  })

  it('names the invalid field and claims nothing (scenario 54)', async () => {
    const holdfast = await open()
    await expect(holdfast.checkAndClaimRun({ ...claim, headSha: 'abc' })).rejects.toMatchObject({
      field: 'headSha',
    })
    expect(await holdfast.checkAndClaimRun(claim)).toMatchObject({ reason: 'new' })
  })

  it('renews its lease itself for as long as the work takes', async () => {
    const [one, two] = [await open({ leaseMs: 1000 }), await open({ leaseMs: 1000 })]
    const first = await one.checkAndClaimRun(claim)
    const expiry = first.lease?.expiresAt ?? 0
    for (;;) {
      const probe = await two.checkAndClaimRun(claim)
      expect(probe.reason).toBe('duplicate')
      if ((probe.run?.leaseExpiresAt ?? 0) > expiry + 1500) break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect(first.signal.aborted).toBe(false)
  })

  it('reports to the holder in another instance that a newer head took over', async () => {
    const [one, two] = [await open(), await open()]
    const first = await one.checkAndClaimRun(claim)
    await two.checkAndClaimRun({ ...claim, headSha: 'c'.repeat(40) })
    expect(await aborted(first.signal)).toMatchObject({ code: 'superseded' })
  })
})

describe('a store that was down for longer than a lease', () => {
  it('leaves the run to its holder: another instance gets duplicate', async () => {
    let movedMs = 0
    const clock = {
      wallMs: () => systemClock.wallMs() + movedMs,
      monotonicMs: () => systemClock.monotonicMs() + movedMs,
    }
    // Its renewals fail.
    const scheduler = { ...systemScheduler, after: () => () => undefined }
    const one = await openHoldfast({ databaseUrl }, { clock, scheduler })
    const two = await openHoldfast({ databaseUrl }, { clock })
    opened.push(one, two)
    const held = await one.checkAndClaimRun(claim)
    movedMs = 10 * 60_000
    expect(await two.checkAndClaimRun(claim)).toMatchObject({ reason: 'duplicate' })
    expect(await held.complete()).toMatchObject({ state: 'succeeded' })
  })
})

describe('a store that cannot be reached', () => {
  it('does not let work through unless the caller chose that', async () => {
    const away = { databaseUrl: 'postgres://nobody@127.0.0.1:1/none' }
    const holdfast = await openHoldfast(away, { onStoreError: 'open', log: silent })
    opened.push(holdfast)
    expect(await holdfast.checkAndClaimRun(claim, { onStoreError: 'closed' })).toMatchObject({
      shouldProcess: false,
      reason: 'store-error',
      runKey: key,
      run: null,
    })
    const gate = await holdfast.checkAndClaimRun(claim, { onStoreError: 'open' })
    expect(gate).toMatchObject({ shouldProcess: true, reason: 'store-error', run: null })
    expect(await gate.publish('note', { channel: 'github-comment', body: 'x' })).toBeNull()
    await gate.report('on my own')
    expect(await holdfast.completeRun(gate.runKey)).toBeNull()
    expect(await gate.complete()).toBeNull()
  })

  it('differs from a closed instance, which lets nothing through', async () => {
    const holdfast = await openHoldfast({ databaseUrl }, { onStoreError: 'open' })
    const claiming = holdfast.checkAndClaimRun(claim)
    const claimed = expect(claiming).rejects.toMatchObject({ code: 'closed' })
    await holdfast.close()
    await claimed
    for (const onStoreError of ['open', 'closed'] as const) {
      const later = holdfast.checkAndClaimRun({ ...claim, prNumber: 8 }, { onStoreError })
      await expect(later).rejects.toMatchObject({ name: 'ConflictError', code: 'closed' })
    }
    await expect(holdfast.purgeOldRuns()).rejects.toMatchObject({ code: 'closed' })
  })

  it('accepts no misspelled choice', async () => {
    const wrong = { onStoreError: 'opne' as 'open' }
    await expect(openHoldfast({ databaseUrl }, wrong)).rejects.toMatchObject({
      field: 'onStoreError',
    })
    const holdfast = await open()
    await expect(holdfast.checkAndClaimRun(claim, wrong)).rejects.toMatchObject({
      code: 'invalid_value',
      field: 'onStoreError',
    })
  })
})

it('a run shows nothing of its lease token', async () => {
  const { run } = await (await open()).checkAndClaimRun(claim)
  expect(Object.keys(run ?? {}).filter((name) => /token|hash/i.test(name))).toEqual([])
})

describe('reporting', () => {
  it('shows the progress of the work while the lease is held', async () => {
    const holdfast = await open()
    const gate = await holdfast.checkAndClaimRun(claim)
    await holdfast.reportRunStatus(gate.runKey, '  reading\nthe diff ')
    await holdfast.reportRunStatus(gate.runKey, 'reading the diff')
    const done = await holdfast.completeRun(gate.runKey)
    expect(done?.reports).toMatchObject([{ text: 'reading the diff', count: 2 }])
    await expect(holdfast.reportRunStatus(gate.runKey, 'late')).rejects.toMatchObject({
      code: 'ended',
    })
  })

  it('is refused for a text that cannot be shown, and a run that is not held here', async () => {
    const holdfast = await open()
    const report = holdfast.reportRunStatus(key, 'x'.repeat(101))
    await expect(report).rejects.toMatchObject({ code: 'invalid_value', field: 'status' })
    await expect(holdfast.reportRunStatus(key, 'hello')).rejects.toMatchObject({
      code: 'lease_lost',
    })
  })
})

describe('a lease belongs to the gate that got it', () => {
  const other = { ...claim, headSha: 'c'.repeat(40) }

  /** The head went from A to B and back to A, in one process. */
  async function threeGates(holdfast: Holdfast) {
    const first = await holdfast.checkAndClaimRun(claim)
    const between = await holdfast.checkAndClaimRun(other)
    const second = await holdfast.checkAndClaimRun(claim)
    expect([first, between, second].map(({ reason }) => reason)).toEqual([
      'new',
      'superseded-prior',
      'returned',
    ])
    return { first, second }
  }

  it('a superseded worker cannot finish, report or publish in a newer round', async () => {
    const holdfast = await open()
    const { first, second } = await threeGates(holdfast)
    const lost = { code: 'lease_lost' }
    await expect(first.complete({ outcome: 'failed' })).rejects.toMatchObject(lost)
    await expect(first.report('too late')).rejects.toMatchObject(lost)
    const comment = { channel: 'github-comment', body: 'too late' } as const
    await expect(first.publish('note', comment)).rejects.toMatchObject(lost)
    await second.report('reading')
    expect(await second.publish('note', { ...comment, body: 'hello' })).toMatchObject({
      already: false,
    })
    const done = await second.complete({ verdict: 'success' })
    expect(done).toMatchObject({ state: 'succeeded', round: 2, reports: [{ text: 'reading' }] })
    expect(await second.complete()).toEqual(done)
  })

  it('a key that could mean two leases is refused, and nothing changes', async () => {
    const holdfast = await open()
    const { second } = await threeGates(holdfast)
    const refused = { code: 'ambiguous_lease', name: 'ConflictError' }
    await expect(holdfast.completeRun(key, { outcome: 'failed' })).rejects.toMatchObject(refused)
    await expect(holdfast.reportRunStatus(key, 'whose?')).rejects.toMatchObject(refused)
    expect(await second.complete()).toMatchObject({ state: 'succeeded', reports: [] })
  })

  it('a repeated completion never ends a later round, however many runs were between', async () => {
    const holdfast = await open()
    const refused = { code: 'ambiguous_lease' }
    await holdfast.checkAndClaimRun(claim)
    await holdfast.completeRun(key, { outcome: 'failed' })
    const second = await holdfast.checkAndClaimRun(claim)
    expect(second).toMatchObject({ reason: 'retry' })
    await expect(holdfast.completeRun(key)).rejects.toMatchObject(refused)
    await second.complete({ outcome: 'failed' })
    for (let n = 0; n < 1001; n += 1) {
      await (await holdfast.checkAndClaimRun({ ...claim, prNumber: 1000 + n })).complete()
    }
    const third = await holdfast.checkAndClaimRun(claim)
    await expect(holdfast.completeRun(key)).rejects.toMatchObject(refused)
    expect(await third.complete()).toMatchObject({ state: 'succeeded', round: 3 })
  })

  it('the signal of an earlier worker in the same process aborts at once', async () => {
    const holdfast = await open()
    const { first, second } = await threeGates(holdfast)
    expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false])
  })

  it('a gate without a lease is refused', async () => {
    const holdfast = await open()
    await holdfast.checkAndClaimRun(claim)
    const duplicate = await holdfast.checkAndClaimRun(claim)
    await expect(duplicate.complete()).rejects.toMatchObject({ code: 'lease_lost' })
    await expect(duplicate.report('hello')).rejects.toMatchObject({ code: 'lease_lost' })
  })

  it('an invalid output is refused by its field, and nothing is stored', async () => {
    const holdfast = await open()
    const gate = await holdfast.checkAndClaimRun(claim)
    const named = (name: string) => gate.publish(name, { channel: 'github-comment', body: 'x' })
    await expect(named('no spaces')).rejects.toMatchObject({ field: 'name' })
    await expect(named('anchor')).rejects.toMatchObject({ field: 'name' })
    const empty = gate.publish('note', { channel: 'github-comment', body: ' ' })
    await expect(empty).rejects.toMatchObject({ field: 'body' })
    const nowhere = gate.publish('note', { channel: 'pigeon', body: 'x' } as never)
    await expect(nowhere).rejects.toMatchObject({ field: 'channel' })
    expect(await named('note')).toMatchObject({ already: false })
    expect(await named('note')).toMatchObject({ already: true })
  })
})

describe('completing', () => {
  it('ends the run, and a repeat answers the same', async () => {
    const holdfast = await open()
    const gate = await holdfast.checkAndClaimRun(claim)
    const done = await holdfast.completeRun(gate.runKey, { verdict: 'failure', summary: 'No.' })
    expect(done).toMatchObject({ state: 'succeeded', verdict: 'failure', summary: 'No.' })
    expect(await holdfast.completeRun(gate.runKey)).toEqual(done)
    expect(await holdfast.checkAndClaimRun(claim)).toMatchObject({ reason: 'duplicate' })
  })

  it('is refused for a key that this instance does not hold', async () => {
    const [one, two] = [await open(), await open()]
    await one.checkAndClaimRun(claim)
    await expect(two.completeRun(key)).rejects.toMatchObject({ code: 'lease_lost' })
    expect(await two.checkAndClaimRun(claim)).toMatchObject({ reason: 'duplicate' })
  })
})

describe('a lease of this instance', () => {
  it('is not reported as lost when its own completion ends the run', async () => {
    const holdfast = await open({ leaseMs: 1000 })
    for (let n = 1; n <= 50; n++) {
      const gate = await holdfast.checkAndClaimRun({ ...claim, prNumber: n })
      await holdfast.completeRun(gate.runKey)
      expect(gate.signal.aborted).toBe(false)
    }
  })

  it('that was lost still gets the reason when it completes', async () => {
    const [one, two] = [await open(), await open()]
    const first = await one.checkAndClaimRun(claim)
    await two.checkAndClaimRun({ ...claim, headSha: 'c'.repeat(40) })
    await aborted(first.signal)
    await expect(one.completeRun(first.runKey)).rejects.toMatchObject({ code: 'superseded' })
  })

  it('that is taken while the instance closes is released, and the process can end', async () => {
    const script = `
      import { openHoldfast } from 'holdfast'
      const holdfast = await openHoldfast({ databaseUrl: ${JSON.stringify(databaseUrl)} })
      const claiming = holdfast.checkAndClaimRun(${JSON.stringify(claim)})
      await holdfast.close()
      console.log(await claiming.then(({ reason }) => reason, ({ code }) => code))`
    const args = ['--input-type=module-typescript', '--eval', script]
    const { stdout } = await run(process.execPath, args, { cwd: root, timeout: 15_000 })
    expect(stdout).toBe('closed\n')
  })
})

describe('purging', () => {
  it('removes finished runs and counts them, and their keys are still known', async () => {
    const holdfast = await open()
    const gate = await holdfast.checkAndClaimRun(claim)
    await holdfast.completeRun(gate.runKey)
    expect(await holdfast.purgeOldRuns()).toBe(0)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await holdfast.purgeOldRuns(0)).toBe(1)
    expect(await holdfast.checkAndClaimRun(claim)).toMatchObject({ reason: 'duplicate', run: null })
  })

  it('refuses an invalid number of days', async () => {
    const holdfast = await open()
    await expect(holdfast.purgeOldRuns(-1)).rejects.toMatchObject({ field: 'retentionDays' })
    await expect(holdfast.purgeOldRuns(Number.NaN)).rejects.toMatchObject({
      field: 'retentionDays',
    })
  })
})

it('the error for a misspelled setting names the right one', async () => {
  const misspelt = { databaseUrl: 'sqlite::memory:', leaseMillis: 1000 } as object
  await expect(openHoldfast(misspelt)).rejects.toThrow(/leaseMs/)
})
