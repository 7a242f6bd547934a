/**
 * Catch-up: finds what happened on GitHub although no webhook arrived. GitHub sends each webhook
 * once and keeps a record of it for three days. So at start and every few minutes we read that
 * record, and compare the pull requests with what we know.
 *
 * What must hold: what is found is received like a webhook and decided by the same rules, once,
 * even if several processes find it. Nothing from before the store's first start counts as missed.
 */
import type { BackgroundLoop } from '../../background-loop.ts'
import { backgroundLoop } from '../../background-loop.ts'
import type { Log } from '../../log.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { StorePart } from '../../store.ts'
import { CatchUpNotes, type CatchUpReport } from './catch-up-report.ts'
import { MissedDeliveries, type MissedDeliveriesOptions } from './missed-deliveries.ts'
import type { OpenedIntake } from '../open-intake.ts'
import { PendingHeadChecks, type PendingHeadChecksOptions } from './pending-head-checks.ts'
import { PullReconciler, type PullReconcilerOptions } from './pull-reconciler.ts'

const everyMs = 5 * 60_000
/** How long a pass waits until its webhooks are decided. Questions to GitHub may delay them. */
const decidedWithinMs = 30_000

export interface CatchUpOptions {
  /** Null in the sandbox: no webhook can be missed there. */
  readonly github: (MissedDeliveriesOptions['github'] & PullReconcilerOptions['github']) | null
  readonly store: MissedDeliveriesOptions['store'] &
    PullReconcilerOptions['store'] &
    PendingHeadChecksOptions['store'] &
    StorePart<{ inbox: 'get' }>
  readonly runs: PendingHeadChecksOptions['runs']
  readonly intake: OpenedIntake
  readonly types: MissedDeliveriesOptions['types']
  readonly clock: PullReconcilerOptions['clock']
  readonly scheduler: Scheduler
  readonly log: Log
}

export interface CatchUp extends BackgroundLoop {
  /** Makes a pass now and reports what it found. */
  now(): Promise<CatchUpReport>
}

export function createCatchUp(options: CatchUpOptions): CatchUp {
  const { github, store, clock, scheduler, log } = options
  const { intake, acts, processor } = options.intake
  const stepOptions = github === null ? null : { ...options, github, intake, acts }
  const steps =
    stepOptions === null
      ? []
      : [
          new MissedDeliveries(stepOptions),
          new PullReconciler(stepOptions),
          new PendingHeadChecks(stepOptions),
        ]
  let stopping = false
  let latest: Promise<CatchUpReport> = Promise.reject(new Error('no pass was made yet'))
  latest.catch(() => undefined)

  async function pass(): Promise<CatchUpReport> {
    const notes = new CatchUpNotes(() => stopping)
    await options.intake.ready
    if (stepOptions === null) notes.leaveOut('GitHub', 'the sandbox has nothing to catch up with')
    for (const step of steps) await step.pass(notes)
    await waitForDecisions(notes)
    const report = notes.report()
    const { ingested, reconciled, skipped } = report
    if (!notes.isComplete)
      log.warn({ ...report }, 'Checked for missed webhooks, but not all: see "skipped"')
    else if (stepOptions !== null && (ingested + reconciled > 0 || skipped.length > 0))
      log.info({ ...report }, 'Checked for missed webhooks')
    return report
  }

  async function waitForDecisions(notes: CatchUpNotes): Promise<void> {
    const until = clock.monotonicMs() + decidedWithinMs
    let undecided = 0
    for (const inboxId of notes.inboxIds) {
      if (stopping) return
      await processor.waitUntilDecided(inboxId, Math.max(0, until - clock.monotonicMs()))
      const entry = await store.inbox.get(inboxId)
      if (entry?.state === 'waiting') undecided += 1
      else if (entry !== null) notes.addDecided(entry)
    }
    if (undecided === 1) notes.skip('1 webhook', 'it is not decided yet')
    if (undecided > 1) notes.skip(`${undecided} webhooks`, 'they are not decided yet')
  }

  const loop = backgroundLoop({
    scheduler,
    everyMs,
    pass: async () => {
      latest = pass()
      await latest
    },
    onError: (error) =>
      log.error({ err: error }, 'Could not check for missed webhooks; trying again'),
  })
  return {
    start: () => loop.start(),
    stop: () => {
      stopping = true
      return loop.stop()
    },
    kick: () => loop.kick(),
    async now() {
      await loop.kick()
      return await latest
    },
  }
}
