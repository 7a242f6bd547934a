/** Retention: what is removed when, at the server's start and then every hour. */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { PurgeLimits, StorePart } from '../store.ts'

const dayMs = 24 * 60 * 60 * 1000
const hourMs = 60 * 60 * 1000
/** Superseded runs have no result worth keeping for long. */
const supersededDaysMax = 7

export interface Retention {
  readonly finishedDays: number
  readonly supersededDays: number
  readonly inboxDays: number
  readonly auditDays: number
}

export function purgeLimits(retention: Retention): PurgeLimits {
  return {
    finishedMs: retention.finishedDays * dayMs,
    supersededMs: Math.min(retention.finishedDays, retention.supersededDays) * dayMs,
    eventMs: retention.inboxDays * dayMs,
    auditMs: retention.auditDays * dayMs,
  }
}

/** The same for one number of days, as `purgeOldRuns` takes it. */
export function withFinishedDays(retention: Retention, days: number): Retention {
  return { ...retention, finishedDays: days, supersededDays: Math.min(days, supersededDaysMax) }
}

/** Purges in small transactions until nothing is left; answers the number of removed runs. */
export async function purgeAll(
  store: StorePart<{ upkeep: 'purge' }>,
  limits: PurgeLimits,
  actor: string,
  onBatch: (removed: number) => void = () => undefined,
): Promise<number> {
  let removed = 0
  for (;;) {
    const { runs, more } = await store.upkeep.purge(limits, actor)
    removed += runs
    onBatch(removed)
    if (!more) return removed
  }
}

export interface PurgerOptions {
  readonly store: StorePart<{ upkeep: 'purge' }>
  readonly scheduler: Scheduler
  readonly log: Log
  readonly retention: Retention
}

export function createPurger({ store, scheduler, log, retention }: PurgerOptions): BackgroundLoop {
  return backgroundLoop({
    scheduler,
    everyMs: hourMs,
    pass: async () => {
      const runs = await purgeAll(store, purgeLimits(retention), 'purge')
      if (runs > 0) log.info({ runs }, 'Removed runs past their retention')
    },
    onError: (error) =>
      log.error({ err: error }, 'Could not remove runs past their retention; trying again'),
  })
}
