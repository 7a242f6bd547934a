/**
 * The reconciler runs at start and every minute. It closes what ended runs still show as in
 * progress and what was too much to close in one transaction. It logs when deliveries wait too long
 * or have failed. Any number of processes may do this at the same time.
 *
 * What must hold: nothing stays "in progress" on GitHub because something was forgotten. The same
 * trouble is logged once, and again only when it changes.
 */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import type { Log } from '../log.ts'
import { cappedCounts } from '../domain/outbox/backlog-count.ts'
import type { OutboxBacklog, OutboxStore } from '../store/outbox-store.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'

const everyMs = 60_000
const batchMax = 100
/** Runs that cannot be closed are found again each time, so the number of batches is limited. */
const batchesMax = 100
/** Longer than confirming, settling and a usual rate limit take. */
const longMs = 10 * 60_000

export interface ReconcilerOptions {
  readonly store: Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'closeForgotten' | 'closeRemaining' | 'backlog'>
  }
  readonly scheduler: Scheduler
  readonly log: Log
}

export function createReconciler({ store, scheduler, log }: ReconcilerOptions): BackgroundLoop {
  let loggedTrouble = noTrouble

  async function closeForgotten(): Promise<void> {
    let runs = 0
    for (let batch = 0; batch < batchesMax; batch += 1) {
      const closed = await store.outbox.closeForgotten(batchMax)
      runs += closed
      if (closed < batchMax) break
    }
    if (runs > 0) log.warn({ runs }, 'Closed what ended runs still showed as in progress on GitHub')
  }

  /** The next pass closes what is left after these batches. */
  async function closeRemaining(): Promise<void> {
    for (let batch = 0; batch < batchesMax; batch += 1) {
      if (!(await store.outbox.closeRemaining())) return
    }
  }

  async function logTrouble(): Promise<void> {
    const backlog = await store.outbox.backlog()
    const found = troubleIn(backlog, store.now())
    if (found === loggedTrouble) return
    loggedTrouble = found
    if (found === noTrouble) {
      log.info({}, 'Publishing is no longer behind')
      return
    }
    const { open, oldestAt, failed, unreported, unreportedCount } = backlog
    const about = {
      open,
      oldest_at: oldestAt === null ? null : new Date(oldestAt).toISOString(),
      failed,
      unreported_runs: unreportedCount,
      oldest_unreported: unreported.map(({ runId, deliveryId }) => ({ runId, deliveryId })),
    }
    log.warn(about, `Publishing needs attention: ${found}. To see how to fix it: holdfast doctor`)
  }

  return backgroundLoop({
    scheduler,
    everyMs,
    pass: async () => {
      await closeForgotten()
      await closeRemaining()
      await logTrouble()
    },
    onError: (error) =>
      log.error({ err: error }, 'Could not check for overdue deliveries; trying again'),
  })
}

const noTrouble = ''

/** The text stays equal until something changes that is worth another log line. */
function troubleIn(backlog: OutboxBacklog, now: number): string {
  const { oldestAt, failed, unreported } = backlog
  const least = cappedCounts(backlog).failed ? 'at least ' : ''
  const isOld = oldestAt !== null && now - oldestAt > longMs
  const late = unreported.filter(({ since }) => now - since > longMs).length
  return [
    ...(isOld ? ['deliveries have waited too long'] : []),
    ...(failed > 0 ? [`${least}${failed} ${failed === 1 ? 'delivery' : 'deliveries'} failed`] : []),
    ...(late > 0 ? ['GitHub still shows ended runs as in progress'] : []),
  ].join(', ')
}
