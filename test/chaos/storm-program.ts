/**
 * A program: one node of the storm. Several workers at once claim, lease, renew, complete, give
 * back, cancel, rerun and sweep on the same few pull requests, continue after they have lost their
 * lease, and log the answers they got.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { ConflictError } from '../../src/errors.ts'
import { hashSecret } from '../../src/secrets.ts'
import type { Store } from '../../src/store.ts'
import { seeded } from '../seed.ts'
import { settings, untilLetGo } from './child.ts'
import { claimOf, grantOf } from './claims.ts'
import { withAborts, withoutLocks } from './faulty-driver.ts'
import { openDriver, machine, storeOver, type Database } from './open-store.ts'
import { headOfEvent, monotonicMs, openLog, type Entry } from './storm-log.ts'

export interface StormConfig {
  readonly database: Database
  readonly folder: string
  readonly name: string
  readonly pullRequests: number
  readonly workers: number
  readonly leaseMs: number
  /** The time of event 0; one second of GitHub's time passes per event. */
  readonly firstEventAt: number
  readonly broken: boolean
  readonly seed: number
  /** How many processes take part. The steps of all are estimated from one's own and this. */
  readonly processes: number
}

/** The start signal. A second signal stops the process. */
export interface StormStart {
  /** Steps that were taken before this process began. */
  readonly stepsBefore: number
}

const stepsPerEvent = 12

interface Grant {
  readonly runId: string
  readonly fence: number
  readonly actor: string
}

const config = settings() as StormConfig
const driver = await openDriver(config.database)
const below = seeded(config.seed)
const chance = { ...machine.random, below }
const faulty = withAborts(config.broken ? withoutLocks(driver) : driver, chance)
const store: Store = storeOver(faulty)
const log = openLog(config.folder, config.name)
const grants: Grant[] = []
const runIds: string[] = []
let actors = 0
let steps = 0
let isOver = false
const { stepsBefore } = (await untilLetGo()) as StormStart
process.on('message', () => (isOver = true))

/** Asks the store, with a line before and after; null when it was refused. */
async function ask<T>(
  entry: Entry,
  request: () => Promise<T>,
  more: (answer: T) => Partial<Entry>,
) {
  const beganAt = monotonicMs()
  const line = (phase: 'asked' | 'done' | 'refused' | 'failed', extra: Partial<Entry>): void =>
    log({ ...entry, ...extra, phase, beganAt, at: monotonicMs() })
  line('asked', {})
  try {
    const answer = await request()
    line('done', more(answer))
    return answer
  } catch (error) {
    if (error instanceof ConflictError) line('refused', { reason: error.code })
    else line('failed', { reason: String(error) })
    return null
  }
}

async function claim(): Promise<void> {
  const pr = below(config.pullRequests)
  const newest = Math.floor((stepsBefore + steps * config.processes) / stepsPerEvent)
  const event = Math.max(0, newest + below(11) - 5)
  const actor = `${config.name}-${actors++}`
  const secret = below(4) > 0 ? actor : null
  const webhookId = below(3) > 0 ? `w${pr}-${event}` : undefined
  const parts = {
    pr,
    head: headOfEvent(event),
    webhookId,
    secret,
    actor,
    leaseMs: config.leaseMs,
  }
  const request = claimOf({
    ...parts,
    eventAt: config.firstEventAt + event * 1000,
    now: store.now(),
  })
  const answer = await ask(
    { verb: 'claim', actor, pr, event },
    () => store.runs.claim(request, null),
    ({ run, lease, process, reason }) => ({
      ...(run !== null && { runId: run.id, fence: run.fence }),
      ...(lease !== null && { expiresAt: lease.expiresAt }),
      granted: process && lease !== null,
      reason,
    }),
  )
  if (answer?.run == null) return
  runIds.push(answer.run.id)
  if (answer.lease !== null) {
    await hold({ runId: answer.run.id, fence: answer.run.fence, actor })
  }
}

async function lease(): Promise<void> {
  const actor = `${config.name}-${actors++}`
  const grant = grantOf(actor, config.leaseMs, 'worker')
  const answer = await ask(
    { verb: 'lease', actor },
    () => store.runs.lease({ grant, leaseMs: grant.ms, types: null, runId: null, actor }, null),
    (leased) => ({
      granted: leased !== null,
      ...(leased !== null && {
        runId: leased.run.id,
        fence: leased.run.fence,
        expiresAt: leased.lease.expiresAt,
      }),
    }),
  )
  if (answer !== null) await hold({ runId: answer.run.id, fence: answer.run.fence, actor })
}

/**
 * Works on a grant: sends heartbeats or lets the lease expire, then completes, releases or stops.
 */
async function hold(grant: Grant): Promise<void> {
  grants.push(grant)
  for (let beats = below(4); beats > 0; beats--) {
    await pause(below(8) === 0 ? config.leaseMs * 1.3 : below(config.leaseMs / 2))
    await heartbeat(grant)
  }
  const end = below(10)
  if (end < 6) await complete(grant)
  else if (end < 8) await release(grant)
}

async function heartbeat({ runId, fence, actor }: Grant): Promise<void> {
  const holder = { runId, leaseHash: hashSecret(actor), leaseMs: null, actor }
  await ask(
    { verb: 'heartbeat', actor, runId, fence },
    () => store.runs.heartbeat(holder, null),
    ({ expiresAt }) => ({ expiresAt }),
  )
}

async function release({ runId, fence, actor }: Grant): Promise<void> {
  const holder = { runId, leaseHash: hashSecret(actor), leaseMs: null, actor }
  await ask(
    { verb: 'release', actor, runId, fence },
    () => store.runs.release(holder, null),
    () => ({}),
  )
}

async function complete({ runId, fence, actor }: Grant): Promise<void> {
  const outcome = below(3) === 0 ? 'failed' : 'succeeded'
  const empty = { summary: null, description: null, targetUrl: null, result: null }
  const request = { runId, leaseHash: hashSecret(actor), actor, outcome, verdict: null } as const
  await ask(
    { verb: 'complete', actor, runId, fence },
    () => store.runs.complete({ ...request, ...empty, errorCode: null, errorText: null }, null),
    () => ({}),
  )
}

async function cancelOrRerun(): Promise<void> {
  const runId = runIds.at(-1 - below(Math.min(20, Math.max(1, runIds.length))))
  if (runId === undefined) return
  const actor = `${config.name}-${actors++}`
  if (below(2) === 0) {
    await ask(
      { verb: 'cancel', actor, runId },
      () => store.runs.cancel(runId, actor, null),
      ({ fence }) => ({ fence }),
    )
  } else {
    await ask(
      { verb: 'rerun', actor, runId },
      () => store.runs.rerun(runId, actor, null),
      () => ({}),
    )
  }
}

/** Acts as an old holder that may have lost its run long ago. */
async function actAsOldHolder(): Promise<void> {
  const grant = grants.at(-1 - below(Math.min(30, Math.max(1, grants.length))))
  if (grant === undefined) return
  const what = [heartbeat, release, complete][below(3)]
  await what?.(grant)
}

async function sweep(): Promise<void> {
  for (const runId of await store.runs.due(20)) await store.runs.sweep(runId).catch(() => null)
}

async function work(): Promise<void> {
  while (!isOver) {
    const which = below(100)
    if (which < 55) await claim()
    else if (which < 70) await lease()
    else if (which < 80) await sweep().catch(() => undefined)
    else if (which < 90) await cancelOrRerun()
    else await actAsOldHolder()
    steps++
    process.send?.({ kind: 'step' })
  }
}

await Promise.all(Array.from({ length: config.workers }, work))
await store.close()
process.disconnect()
