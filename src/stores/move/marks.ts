/**
 * What a move leaves in the two stores, and the errors of a store that must not be opened for it.
 *
 *   moved_to    in the source: the store is somewhere else now
 *   move        in the target: the copy is not complete, or the source is not marked yet
 *   moved_from  in the target: it is complete and may be used
 *
 * What must hold: at no moment can both stores be opened. The target can be opened only after the
 * source was marked, and an undo removes the target before it clears that mark.
 */
import { ConflictError, SetupError } from '../../errors.ts'

export interface MovedTo {
  /** The id of the move, which the target has too. */
  readonly move: string
  /** Where to, without a password. */
  readonly to: string
  readonly at: number
  /** An undo has begun. */
  readonly undoing?: true
}

/** One table, as it was copied and verified. */
export interface TableReport {
  readonly table: string
  readonly rows: number
  readonly sha256: string
}

/** Kept in the target until the move is complete. */
export interface MoveRecord {
  readonly move: string
  /** The id of the store that is moved. */
  readonly source: string
  /** The highest audit id that the source ever gave, and its last sign of life. */
  readonly audit: number
  readonly alive: number | null
  readonly schema: number
  readonly begunAt: number
  readonly state: 'copying' | 'copied'
  /** The table that is being copied, the key of its last row in the target, and its rows there. */
  readonly table: string | null
  readonly after: readonly (string | number)[]
  readonly rows: number
  /** How many texts had characters that PostgreSQL cannot store. */
  readonly replaced: number
  /** Of every table, once all are verified. */
  readonly tables: readonly TableReport[]
}

/** Kept in the target for good. */
export interface MovedFrom {
  readonly move: string
  readonly source: string
  readonly at: number
  readonly replaced: number
  readonly tables: readonly TableReport[]
  /** The audit id that was given last, and a checksum of what the store knew about itself. */
  readonly audit: number
  readonly states: string
}

/** `value`: what the source stores as `moved_to`. */
export function movedError(value: string): ConflictError {
  const { to, at, undoing } = JSON.parse(value) as MovedTo
  const when = new Date(at).toISOString()
  if (undoing === true) {
    return new ConflictError(
      'store_moved',
      `this store was moved to ${to}, and an undo has begun`,
      {
        hint: `Finish the undo. Run: holdfast move --undo --to ${to}`,
      },
    )
  }
  return new ConflictError('store_moved', `this store was moved to ${to} at ${when}`, {
    hint:
      'Set HOLDFAST_DATABASE_URL to that database. As long as nothing has used it, you can also ' +
      `go back to this file. Run: holdfast move --undo --to ${to}`,
  })
}

/** For a target whose copy is not complete. */
export function incompleteError(): SetupError {
  return new SetupError(
    'store_incomplete',
    'a move into this database has not finished, so the store in it may be incomplete',
    {
      hint:
        'Run holdfast move again with the same settings: it continues where it stopped. To give ' +
        'the move up, run it with --undo.',
    },
  )
}
