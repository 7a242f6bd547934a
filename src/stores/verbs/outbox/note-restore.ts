/**
 * A copy of the store was restored, so what happened after the copy is missing. Before anything is
 * published, every delivery that may have changed since then is noted: it must be looked at first.
 * This is done in batches.
 */
import { isAnnouncement } from '../../../domain/outbox/announce.ts'
import { isOpen, type Delivery, type RestoreCheck } from '../../../domain/outbox/delivery.ts'
import { auditOf } from '../../../domain/outbox/outcome.ts'
import { afterRestore, mustBeReadAgain, planRead } from '../../../domain/outbox/restored.ts'
import type { Run } from '../../../domain/run.ts'
import type { RestoreNote } from '../../../store/outbox-store.ts'
import type { Driver } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { insertAudit, insertAudits } from '../../tables/audit-table.ts'
import { selectDeliveries } from '../../tables/delivery-table.ts'
import { selectRuns } from '../../tables/run-table.ts'
import type { VerbContext } from '../context.ts'
import { laterKeysOf } from './later-rounds.ts'
import { readState, writeState } from '../../tables/state-table.ts'
import { storeDeliveries } from './store-deliveries.ts'

const batchMax = 100
/** An output that was last shown longer ago than this, before the copy, is not read again. */
const recentMs = 7 * 24 * 3_600_000
/** The time between two of the reads. There may be thousands, and GitHub limits reads too. */
const readEveryMs = 1000

/** How far the noting has come. It is kept in the store until the noting is complete. */
export interface Noting {
  readonly restoredAt: number
  /** When the copy was made, as far as the copy knows. */
  readonly copiedAt: number
  /** The newest delivery when the noting began, or null. Newer ones were not in the copy. */
  readonly newest: string | null
  /** Deliveries older than this one are still to be noted; null: all of them. */
  readonly before: string | null
  /** The time of the last read that was planned so far. */
  readonly readAt: number
  /** How many of each kind were noted so far. Missing if an older version began the noting. */
  readonly open?: number
  /** The audit row of the restore. Missing if an older version began the noting. */
  readonly auditId?: number
  readonly shown?: number
}

/** A backup contains a flag that it is one. The flag is handled once. */
export function* noticeBackup(context: VerbContext): Verb<void> {
  if ((yield* readState('is_backup')) === null) return
  yield* beginNoting(context)
  yield sql`DELETE FROM store_state WHERE key = 'is_backup'`
}

/** From here on, no process publishes before everything is noted. */
export function* beginNoting(context: VerbContext): Verb<void> {
  const restoredAt = context.now()
  const copiedAt = Number((yield* readState('alive_at')) ?? restoredAt)
  const [row] = yield sql`SELECT max(id) AS newest FROM delivery`
  const newest = (row?.['newest'] ?? null) as string | null
  const auditId = (yield* auditIdBefore()) ?? (yield* auditRestore(restoredAt, copiedAt))
  const progress = { before: null, readAt: restoredAt, auditId }
  const noting: Noting = { restoredAt, copiedAt, newest, ...progress }
  yield* writeState('restored_at', String(restoredAt))
  yield sql`DELETE FROM store_state WHERE key = 'restore_note'`
  yield* writeState('restore_noting', JSON.stringify(noting))
}

/** If the noting starts again before it was complete, the restore keeps its one audit row. */
function* auditIdBefore(): Verb<number | null> {
  const stored = yield* readState('restore_noting')
  return stored === null ? null : ((JSON.parse(stored) as Noting).auditId ?? null)
}

function* auditRestore(restoredAt: number, copiedAt: number): Verb<number> {
  const data = { copied_at: new Date(copiedAt).toISOString() }
  const audit = { type: 'store.restored', actor: 'system', runId: null, data } as const
  return yield* insertAudit(audit, null, restoredAt)
}

export function* readRestoreNote(): Verb<RestoreNote | null> {
  const stored = yield* readState('restore_note')
  return stored === null ? null : (JSON.parse(stored) as RestoreNote)
}

/** A server has started, so what was noted is looked at from now on. */
export function* noteServed(context: VerbContext): Verb<void> {
  const note = yield* readRestoreNote()
  if (note === null || note.servedAt !== null) return
  yield* writeState('restore_note', JSON.stringify({ ...note, servedAt: context.now() }))
}

/** Each batch is one transaction. There may be many; after a crash the next process continues. */
export async function noteAll(driver: Driver, context: VerbContext): Promise<void> {
  while (await driver.transact(() => noteBatch(context)));
}

/** Returns false if there is nothing left to note. */
export function* noteBatch(context: VerbContext): Verb<boolean> {
  if ((yield* readState('restore_noting')) === null) return false
  // Locks the row: a second process waits and continues where the first one ended.
  const [row] = yield sql`UPDATE store_state SET value = value
    WHERE key = 'restore_noting' RETURNING value`
  if (row === undefined) return false
  const noting = JSON.parse(row['value'] as string) as Noting
  const found = yield* nextToNote(noting)
  const runs = yield* runsOf(found.filter((each) => hasLaterRounds(context, each)))
  const { restoredAt, auditId } = noting
  const isRead = (one: Delivery) => mustBeReadAgain(one, context.channels.of(one.channel))
  let { readAt } = noting
  const noted = found.map((delivery) => {
    const channel = context.channels.of(delivery.channel)
    const causeId = auditId ?? delivery.causeId
    const known = {
      ...afterRestore(delivery, channel, restoredAt, context.publishing),
      causeId,
    }
    if (!isRead(delivery)) return known
    readAt += readEveryMs
    const restored = restoredOf(context, delivery, runs.get(delivery.runId ?? ''))
    return planRead(known, readAt, restored, context.publishing)
  })
  yield* storeDeliveries(context, noted)
  yield* insertAudits(
    noted
      .filter((item, i) => item.wait === 'in_doubt' && found[i]?.wait !== 'in_doubt')
      .map((item) =>
        auditOf(item, 'delivery.in_doubt', {
          reason: 'restored',
          text: 'the database was restored',
        }),
      ),
    auditId ?? null,
    context.now(),
  )
  const before = found.length < batchMax ? null : (found.at(-1)?.id ?? null)
  yield* keepProgress({
    ...noting,
    before,
    readAt,
    open: (noting.open ?? 0) + found.filter(isOpen).length,
    shown: (noting.shown ?? 0) + found.filter(isRead).length,
  })
  return true
}

function* keepProgress(noting: Noting): Verb<void> {
  if (noting.before !== null) return yield* writeState('restore_noting', JSON.stringify(noting))
  const { restoredAt, copiedAt, open = 0, shown = 0, readAt: lastReadAt } = noting
  const note: RestoreNote = { restoredAt, copiedAt, open, shown, lastReadAt, servedAt: null }
  yield* writeState('restore_note', JSON.stringify(note))
  yield sql`DELETE FROM store_state WHERE key = 'restore_noting'`
}

/**
 * The newest come first, because they are the most likely to have changed. The order is by id and
 * not by time, because this clock may be behind the one that made the copy. The `|| ''` after
 * `status` makes SQLite walk down the ids; otherwise it would sort everything that is left for each
 * batch.
 */
export function* nextToNote(noting: Noting): Verb<readonly Delivery[]> {
  const { newest, before, copiedAt } = noting
  const since = copiedAt - recentMs
  return yield* selectDeliveries(sql`
    ${before === null ? sql`id <= ${newest}` : sql`id < ${before}`}
    AND (status || '' IN ('PENDING', 'FAILED') OR (status || '' = 'SENT' AND (final = 0
      OR (kind = 'state' AND sent_at >= ${since})))
      OR (status || '' = 'SKIPPED' AND kind = 'state' AND changed_at >= ${since}))
    ORDER BY id DESC LIMIT ${batchMax}`)
}

/** Announcements of later rounds may hide it. */
function hasLaterRounds({ channels }: VerbContext, delivery: Delivery): boolean {
  const channel = channels.of(delivery.channel)
  return channel.repeatWhenHidden !== undefined && isAnnouncement(channel, delivery)
}

function* runsOf(deliveries: readonly Delivery[]): Verb<ReadonlyMap<string, Run>> {
  const ids = deliveries.map(({ runId }) => runId).filter((runId) => runId !== null)
  if (ids.length === 0) return new Map()
  const runs = yield* selectRuns(sql`id IN (${join(padded([...new Set(ids)]))})`)
  return new Map(runs.map((run) => [run.id, run]))
}

/** Only the last round that the copy knows looks for later rounds. */
function restoredOf(context: VerbContext, delivery: Delivery, run: Run | undefined): RestoreCheck {
  const isLast = hasLaterRounds(context, delivery) && delivery.round === run?.round
  return { laterKeys: isLast ? laterKeysOf(context, run) : [] }
}
