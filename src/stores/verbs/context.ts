/** What a verb may use besides its input: the store's clock, new ids, the dialect's fragments. */
import type { KnownChannels } from '../../domain/outbox/channel-declaration.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import type { Circumstances } from '../../domain/outbox/outcome.ts'
import type { PublishingRules } from '../../domain/outbox/schedule.ts'
import type { Moment, Run } from '../../domain/run.ts'
import type { Subject } from '../../domain/subject.ts'
import { runNotFound } from '../../errors.ts'
import type { IdPrefix } from '../../ids.ts'
import type { NewMarkerKey } from '../../store/outbox-store.ts'
import type { Dialect } from '../driver.ts'
import { LostRace } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { selectRun, selectRunsById, selectSubjectIds } from '../tables/run-table.ts'
import { lockSubject, lockSubjectsById } from '../tables/subject-table.ts'

export interface VerbContext {
  readonly dialect: Dialect
  /** Read it again after waiting for a lock: a verb must not decide by the time it was queued. */
  now(): number
  moment(): Moment
  /** When this store was last restored from a copy; null when it never was. */
  restoredAt(): number | null
  newId(prefix: IdPrefix): string
  /** In [0, 1): spreads retries that would otherwise happen at the same time. */
  jitter(): number
  readonly publishing: PublishingRules
  readonly channels: KnownChannels
  newMarkerKey(): NewMarkerKey
  newStoreId(): string
}

/** When and by which rules the outbox decides about a delivery. */
export function circumstancesOf(
  context: VerbContext,
  { channel }: Pick<Delivery, 'channel'>,
): Circumstances {
  const { publishing: rules, channels } = context
  return { channel: channels.of(channel), now: context.now(), rules, jitter: context.jitter() }
}

export interface LockedRun {
  readonly run: Run
  readonly subject: Subject
}

/** Finds a run, locks its subject, and reads the run again as it is under that lock. */
export function* lockRun(context: VerbContext, runId: string): Verb<LockedRun> {
  const found = yield* selectRun(runId)
  if (found === null) throw runNotFound(runId)
  const subject = yield* lockSubject(found.subjectId, context.now())
  const run = yield* selectRun(runId)
  if (run === null) throw runNotFound(runId)
  if (run.subjectId !== subject.id) throw new LostRace('the run moved to another subject')
  return { run, subject }
}

/** The same for many runs, by id. Runs that do not exist are missing. */
export function* lockRuns(
  context: VerbContext,
  runIds: readonly string[],
): Verb<Map<string, LockedRun>> {
  const { dialect } = context
  // Where nobody else writes, one look is enough. Elsewhere they are read under the lock.
  const found = dialect.hasOneWriter ? yield* selectRunsById(runIds) : null
  const subjectIds =
    found === null
      ? yield* selectSubjectIds(runIds)
      : [...found.values()].map(({ subjectId }) => subjectId)
  const subjects = yield* lockSubjectsById(subjectIds, dialect.keepForUpdate)
  const runs = found ?? (yield* selectRunsById(runIds))
  const locked = new Map<string, LockedRun>()
  for (const run of runs.values()) {
    const subject = subjects.get(run.subjectId)
    if (subject === undefined) throw new LostRace('the run moved to another subject')
    locked.set(run.id, { run, subject: { ...subject, touchedAt: context.now() } })
  }
  return locked
}
