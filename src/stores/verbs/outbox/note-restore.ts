/**
 * A copy of a store was put in its place: what happened since the copy is not in it. So all that
 * may have changed since is noted, in bites, before anything is published.
 */
import { isAnnouncement } from '../../../domain/outbox/announce.ts'
import { isOpen, type Delivery, type Restored } from '../../../domain/outbox/delivery.ts'
import { auditOf } from '../../../domain/outbox/outcome.ts'
import { afterRestore, isReadAgain, readAgain } from '../../../domain/outbox/restored.ts'
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

const biteMax = 100
/** What was shown longer ago than this before the copy was made is not read again. */
const recentMs = 7 * 24 * 3_600_000
/** Between two of the reads: there may be thousands, and GitHub counts reads too. */
const readEveryMs = 1000

/** How far it has come; kept in the store until it is through. */
export interface Noting {
  readonly restoredAt: number
  /** When the copy was made, as far as it knows. */
  readonly copiedAt: number
  /** The newest delivery when noting began; null: there was none. What is newer is not a copy. */
  readonly newest: string | null
  /** What is older than this one is still to be noted; null: all of it. */
  readonly before: string | null
  /** When the last of the reads is made that were arranged so far. */
  readonly readAt: number
  /** How many of each kind were noted so far; not there where an older version began. */
  readonly open?: number
  /** The audit row of the restore; not there where an older version began. */
  readonly auditId?: number
  readonly shown?: number
}

/** What a copy says of itself, once. */
export function* noticeBackup(context: VerbContext): Verb<void> {
  if ((yield* readState('is_backup')) === null) return
  yield* beginNoting(context)
  yield sql`DELETE FROM store_state WHERE key = 'is_backup'`
}

/** From here on nothing is published before all is noted, whoever does that. */
export function* beginNoting(context: VerbContext): Verb<void> {
  const restoredAt = context.now()
  const copiedAt = Number((yield* readState('alive_at')) ?? restoredAt)
  const [row] = yield sql`SELECT max(id) AS newest FROM delivery`
  const newest = (row?.['newest'] ?? null) as string | null
  const auditId = (yield* auditIdBefore()) ?? (yield* tellOf(restoredAt, copiedAt))
  const progress = { before: null, readAt: restoredAt, auditId }
  const noting: Noting = { restoredAt, copiedAt, newest, ...progress }
  yield* writeState('restored_at', String(restoredAt))
  yield sql`DELETE FROM store_state WHERE key = 'restore_note'`
  yield* writeState('restore_noting', JSON.stringify(noting))
}

/** It is begun again before it has ended: told once. */
function* auditIdBefore(): Verb<number | null> {
  const stored = yield* readState('restore_noting')
  return stored === null ? null : ((JSON.parse(stored) as Noting).auditId ?? null)
}

function* tellOf(restoredAt: number, copiedAt: number): Verb<number> {
  const data = { copied_at: new Date(copiedAt).toISOString() }
  const audit = { type: 'store.restored', actor: 'system', runId: null, data } as const
  return yield* insertAudit(audit, null, restoredAt)
}

export function* readRestoreNote(): Verb<RestoreNote | null> {
  const stored = yield* readState('restore_note')
  return stored === null ? null : (JSON.parse(stored) as RestoreNote)
}

/** A server starts on it: from now on what was noted is looked at. */
export function* noteServed(context: VerbContext): Verb<void> {
  const note = yield* readRestoreNote()
  if (note === null || note.servedAt !== null) return
  yield* writeState('restore_note', JSON.stringify({ ...note, servedAt: context.now() }))
}

/** Each bite is a transaction: there may be tens of thousands, and the next process goes on. */
export async function noteAll(driver: Driver, context: VerbContext): Promise<void> {
  while (await driver.transact(() => noteBite(context)));
}

/** False when there is nothing to note. */
export function* noteBite(context: VerbContext): Verb<boolean> {
  if ((yield* readState('restore_noting')) === null) return false
  // One at a time: whoever comes second goes on where the first one ended.
  const [row] = yield sql`UPDATE store_state SET value = value
    WHERE key = 'restore_noting' RETURNING value`
  if (row === undefined) return false
  const noting = JSON.parse(row['value'] as string) as Noting
  const found = yield* nextToNote(noting)
  const runs = yield* runsOf(found.filter((each) => hasLaterRounds(context, each)))
  const { restoredAt, auditId } = noting
  const isRead = (one: Delivery) => isReadAgain(one, context.channels.of(one.channel))
  let { readAt } = noting
  const doubted = found.map((delivery) => {
    const channel = context.channels.of(delivery.channel)
    const causeId = auditId ?? delivery.causeId
    const known = {
      ...afterRestore(delivery, channel, restoredAt, context.publishing),
      causeId,
    }
    if (!isRead(delivery)) return known
    readAt += readEveryMs
    const restored = restoredOf(context, delivery, runs.get(delivery.runId ?? ''))
    return readAgain(known, readAt, restored, context.publishing)
  })
  yield* storeDeliveries(context, doubted)
  yield* insertAudits(
    doubted
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
  const before = found.length < biteMax ? null : (found.at(-1)?.id ?? null)
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
 * The newest first: they are the likeliest to have changed since. By their ids and not by times,
 * because the clock here may be behind the one that made the copy. What is added to the status has
 * SQLite walk down the ids instead of sorting, for each bite, all that is left.
 */
export function* nextToNote(noting: Noting): Verb<readonly Delivery[]> {
  const { newest, before, copiedAt } = noting
  const since = copiedAt - recentMs
  return yield* selectDeliveries(sql`
    ${before === null ? sql`id <= ${newest}` : sql`id < ${before}`}
    AND (status || '' IN ('PENDING', 'FAILED') OR (status || '' = 'SENT' AND (final = 0
      OR (kind = 'state' AND sent_at >= ${since})))
      OR (status || '' = 'SKIPPED' AND kind = 'state' AND changed_at >= ${since}))
    ORDER BY id DESC LIMIT ${biteMax}`)
}

/** Announcements of later rounds may cover it. */
function hasLaterRounds({ channels }: VerbContext, delivery: Delivery): boolean {
  const channel = channels.of(delivery.channel)
  return channel.covering !== undefined && isAnnouncement(channel, delivery)
}

function* runsOf(deliveries: readonly Delivery[]): Verb<ReadonlyMap<string, Run>> {
  const ids = deliveries.map(({ runId }) => runId).filter((runId) => runId !== null)
  if (ids.length === 0) return new Map()
  const runs = yield* selectRuns(sql`id IN (${join(padded([...new Set(ids)]))})`)
  return new Map(runs.map((run) => [run.id, run]))
}

/** Every round has its own. A later one that the copy knows of is none to close. */
function restoredOf(context: VerbContext, delivery: Delivery, run: Run | undefined): Restored {
  const isLast = hasLaterRounds(context, delivery) && delivery.round === run?.round
  return { laterKeys: isLast ? laterKeysOf(context, run) : [] }
}
