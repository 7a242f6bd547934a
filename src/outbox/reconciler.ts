/**
 * The reconciler: at start and every minute it closes what ended runs left announced or had too
 * much of to close at once, and says when deliveries wait too long or were given up. Any number of
 * processes may do it at once.
 *
 * What must hold: nothing stays "in progress" on GitHub because something was forgotten; a state of
 * things is told once, and again only when it changes.
 */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import type { Log } from '../log.ts'
import type { OutboxBacklog, OutboxStore } from '../store/outbox-store.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'

const everyMs = 60_000
const biteMax = 100
/** Those that cannot be closed would be found again and again. */
const bitesMax = 100
/** Confirming, settling and a usual rate limit are over by then. */
const longMs = 10 * 60_000

export interface ReconcilerOptions {
  readonly store: Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'closeForgotten' | 'closeRest' | 'backlog'>
  }
  readonly scheduler: Scheduler
  readonly log: Log
}

export function createReconciler({ store, scheduler, log }: ReconcilerOptions): BackgroundLoop {
  let told = noTrouble

  async function closeForgotten(): Promise<void> {
    let runs = 0
    for (let bite = 0; bite < bitesMax; bite += 1) {
      const closed = await store.outbox.closeForgotten(biteMax)
      runs += closed
      if (closed < biteMax) break
    }
    if (runs > 0) log.warn({ runs }, 'Closed what ended runs still showed as in progress on GitHub')
  }

  /** What is left after these bites is for the next pass. */
  async function closeRest(): Promise<void> {
    for (let bite = 0; bite < bitesMax; bite += 1) {
      if (!(await store.outbox.closeRest())) return
    }
  }

  async function tellTrouble(): Promise<void> {
    const backlog = await store.outbox.backlog()
    const found = troubleIn(backlog, store.now())
    if (found === told) return
    told = found
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
      await closeRest()
      await tellTrouble()
    },
    onError: (error) =>
      log.error({ err: error }, 'Could not check for overdue deliveries; trying again'),
  })
}

const noTrouble = ''

/** Equal while nothing has changed that a person would want to hear of again. */
function troubleIn({ oldestAt, failed, unreported }: OutboxBacklog, now: number): string {
  const isOld = oldestAt !== null && now - oldestAt > longMs
  const late = unreported.filter(({ since }) => now - since > longMs).length
  return [
    ...(isOld ? ['deliveries have waited too long'] : []),
    ...(failed > 0 ? [`${failed === 1 ? '1 delivery' : `${failed} deliveries`} failed`] : []),
    ...(late > 0 ? ['GitHub still shows ended runs as in progress'] : []),
  ].join(', ')
}
