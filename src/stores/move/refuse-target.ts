/** Why a store is not moved now, or not into this database, and what to do instead. */
import { SetupError } from '../../errors.ts'
import { loadMigrations } from '../migrations.ts'
import type { MovedFrom, MoveRecord } from './marks.ts'
import type { MoveSource } from './source.ts'
import type { TargetLook } from './target-look.ts'

export function refuseFilled({ filled }: TargetLook): void {
  if (filled === null) return
  throw new SetupError(
    'target_not_empty',
    `the target is not empty: its table ${filled} has rows`,
    { hint: 'Move into a new database: createdb NAME. Or did you mean another one?' },
  )
}

/** A backup of the store from before it was moved, or a copy of its file. */
export function olderFile({ at }: MovedFrom): SetupError {
  const when = new Date(at).toISOString()
  return new SetupError(
    'target_not_empty',
    `the target already holds this store: it was moved there at ${when}`,
    { hint: 'This file is an older copy of it. Use the target: set HOLDFAST_DATABASE_URL to it.' },
  )
}

const namedMax = 5

/**
 * An `exec` that works directly on the file uses it as a server does. After the move its result
 * would be refused, and its work would be done again.
 */
export function refuseExec(source: MoveSource, path: string): void {
  const runs = source.runsOfExec()
  const last = runs.at(-1)
  if (last === undefined) return
  const named = runs.map(({ id, type, subject }) => `${id} (${type} of ${subject})`)
  const more = named.length > namedMax ? [`and ${named.length - namedMax} more`] : []
  const list = [...named.slice(0, namedMax), ...more].join(', ')
  const until = new Date(last.leaseEndsAt).toISOString()
  throw new SetupError('store_in_use', `holdfast exec works on ${path}: ${list}`, {
    hint:
      'Wait until it has ended, or stop it, and move then. If its process is gone, wait until ' +
      `its lease has ended, at the latest until ${until}.`,
  })
}

export function refuseOtherMove(record: MoveRecord, source: MoveSource): void {
  const now = source.fingerprint()
  if (record.source !== now.source) {
    throw new SetupError(
      'target_not_empty',
      'a move of another store into this database has not finished',
      { hint: 'Use a new database: createdb NAME. Or give that move up with --undo, there.' },
    )
  }
  refuseOtherSchema(record)
  if (record.audit !== now.audit || record.alive !== now.alive) throw sourceChanged(record)
}

export function refuseOtherSchema({ schema }: MoveRecord): void {
  const newest = loadMigrations('postgres').at(-1)?.version
  if (schema === newest) return
  throw new SetupError(
    'move_version',
    `the move was begun with schema ${schema}, but this program has ${newest}`,
    {
      hint:
        'Finish it with the version of Holdfast that began it. Or give the copy up with --undo, ' +
        'and move again.',
    },
  )
}

export function sourceChanged({ begunAt }: MoveRecord): SetupError {
  const since = new Date(begunAt).toISOString()
  return new SetupError(
    'source_changed',
    `the SQLite store was used since the move was begun at ${since}, so the copy is out of date`,
    { hint: 'Give the copy up with --undo, and move again. Or move into a new database.' },
  )
}
