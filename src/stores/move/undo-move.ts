/**
 * Gives a move up, or takes it back: removes the copy, and lets the SQLite store be used again.
 *
 *   noted ─▶ removed ─▶ cleared
 *   source   target     source
 *
 * What must hold: nothing that happened in the target is lost. So a target that was used since the
 * move is refused, and the check and the removal are one transaction. The source can be opened only
 * after the target is gone. If the process dies in between, the same command finishes the undo.
 */
import { SetupError } from '../../errors.ts'
import type { MovedTo } from './marks.ts'
import { withTarget } from './move-store.ts'
import type { MoveOptions, UndoAnswer } from './move-terms.ts'
import { MoveSource } from './source.ts'
import { lockTarget } from './target-lock.ts'
import { lookAtTarget, wasUsed, type TargetLook } from './target-look.ts'
import { dropStore, targetUsed } from './target-verbs.ts'

export async function undoMove(options: MoveOptions): Promise<UndoAnswer> {
  const unlock = await lockTarget(options.url)
  try {
    const source = new MoveSource(options.path, options)
    try {
      return await undo(source, options)
    } finally {
      source.close()
    }
  } finally {
    await unlock()
  }
}

async function undo(source: MoveSource, options: MoveOptions): Promise<UndoAnswer> {
  const { movedTo, storeId } = source
  const known = [...new Set(source.columns().map(({ table }) => table))]
  return await withTarget(options, 'never', async (driver): Promise<UndoAnswer> => {
    const look = await driver.read(lookAtTarget)
    const move = copyOf(look, source)
    if (move === null) {
      refuseElsewhere(look, movedTo, source, options)
      if (movedTo !== null) source.clearMark()
      return { outcome: movedTo === null ? 'nothing' : 'undone', storeId }
    }
    const { movedFrom, record } = look
    if (record === null && movedFrom !== null && (await driver.read(() => wasUsed(movedFrom)))) {
      source.noteUndo(false)
      throw targetUsed()
    }
    source.noteUndo(true)
    await driver
      .transact(() => dropStore(move, known))
      .catch((error: unknown) => {
        // Only an answer of the target says for certain that nothing was removed.
        if (error instanceof SetupError) source.noteUndo(false)
        throw error
      })
    source.clearMark()
    return { outcome: 'undone', storeId }
  })
}

/** The id of the move that made what is in the target; null if that is not from this store. */
function copyOf({ record, movedFrom }: TargetLook, source: MoveSource): string | null {
  const { movedTo, storeId } = source
  if (movedTo !== null) {
    return [record?.move, movedFrom?.move].includes(movedTo.move) ? movedTo.move : null
  }
  // A store that is in use is not the copy of a store that is not marked as moved.
  return record?.source === storeId ? record.move : null
}

/** The target has no copy of this store. That is right only if there is nothing left to remove. */
function refuseElsewhere(
  { filled, record, movedFrom }: TargetLook,
  movedTo: MovedTo | null,
  source: MoveSource,
  { to }: MoveOptions,
): void {
  const isEmpty = filled === null && record === null && movedFrom === null
  if (isEmpty && (movedTo === null || (movedTo.undoing === true && movedTo.to === to))) return
  if (movedTo !== null) throw source.movedError
  throw new SetupError('target_foreign', 'the target does not hold a copy of this store', {
    hint: 'Give the database with --to into which this store was moved.',
  })
}
