/**
 * Moves a SQLite store to PostgreSQL. Nothing may use either of them meanwhile.
 *
 *   frozen ──▶ begun ──▶ copying ──▶ copied ──▶ marked ──▶ released
 *   source     record    a batch     compared   source     target
 *              in the    and how     row by     says       may be
 *              target    far it is   row        moved_to   used
 *
 * Each arrow is a commit; `copying` has one for each batch. What a process that dies leaves behind:
 *
 *   before begun      an empty target; the source is as it was
 *   until copied      a target that cannot be opened. The same command continues, if the source is
 *                     still the same. A server may also start on the source again; then the copy
 *                     is out of date, and `--undo` removes it
 *   until marked      the same, and only the mark is missing
 *   until released    neither can be opened. The same command releases the target
 *
 * What must hold: never can both be opened (see `marks`), and the source has not changed between
 * the comparison and its mark.
 */
import { refuseForeign } from '../drivers/foreign-tables.ts'
import type { PostgresDriver } from '../drivers/postgres.ts'
import { loadMigrations, missingMigrations } from '../migrations.ts'
import { openPostgresDriver } from '../open-postgres.ts'
import { planCopy } from './copy-plan.ts'
import { StoreCopy } from './copy-store.ts'
import type { MovedFrom, MoveRecord } from './marks.ts'
import type { MoveAnswer, MoveOptions } from './move-terms.ts'
import {
  olderFile,
  refuseExec,
  refuseFilled,
  refuseOtherMove,
  refuseOtherSchema,
} from './refuse-target.ts'
import { MoveSource } from './source.ts'
import { lockTarget } from './target-lock.ts'
import { lookAtTarget, targetColumns, type TargetLook } from './target-look.ts'
import { releaseTarget } from './target-verbs.ts'

export async function moveStore(options: MoveOptions): Promise<MoveAnswer> {
  const unlock = await lockTarget(options.url)
  try {
    const look = await withTarget(options, 'never', (driver) => driver.read(lookAtTarget))
    refuseForeign(look.foreign)
    // Throws if a newer program has migrated it.
    missingMigrations(loadMigrations('postgres'), look.applied)
    if (look.record === null && look.movedFrom === null) refuseFilled(look)
    const source = new MoveSource(options.path, options)
    try {
      if (source.movedTo !== null) return await finishMarked(source, look, options)
      source.freeze()
      return await moveFrozen(source, look, options)
    } finally {
      source.close()
    }
  } finally {
    await unlock()
  }
}

async function moveFrozen(
  source: MoveSource,
  look: TargetLook,
  options: MoveOptions,
): Promise<MoveAnswer> {
  const { record, movedFrom } = look
  refuseExec(source, options.path)
  if (movedFrom?.source === source.storeId) throw olderFile(movedFrom)
  if (record === null) refuseFilled(look)
  else refuseOtherMove(record, source)
  return await withTarget(options, record === null ? 'always' : 'never', async (driver) => {
    const plan = planCopy(source.columns(), await driver.read(targetColumns))
    const copy = new StoreCopy(source, driver, plan, options)
    const begun = record ?? (await copy.begin())
    const copied = begun.state === 'copied' ? copy.compareAgain(begun) : await copy.complete(begun)
    source.mark({ move: copied.move, to: options.to })
    options.onProgress?.({ what: 'marked' })
    return answerOf('moved', await release(driver, copied, options))
  })
}

/**
 * An earlier try has marked the source, or has finished. If an undo had begun since and has not
 * removed the copy, it is given up.
 */
async function finishMarked(
  source: MoveSource,
  { record, movedFrom }: TargetLook,
  options: MoveOptions,
): Promise<MoveAnswer> {
  const move = source.movedTo?.move
  if (movedFrom !== null && movedFrom.move === move) {
    source.noteUndo(false)
    return answerOf('already', movedFrom)
  }
  if (record?.move !== move || record?.state !== 'copied') throw source.movedError
  refuseOtherSchema(record)
  source.noteUndo(false)
  return await withTarget(options, 'never', async (driver) =>
    answerOf('moved', await release(driver, record, options)),
  )
}

async function release(
  driver: PostgresDriver,
  record: MoveRecord,
  { onProgress }: MoveOptions,
): Promise<MovedFrom> {
  const movedFrom = await driver.transact(() => releaseTarget(record, driver.now()))
  onProgress?.({ what: 'released' })
  return movedFrom
}

function answerOf(outcome: MoveAnswer['outcome'], movedFrom: MovedFrom): MoveAnswer {
  const { source, at, tables, replaced } = movedFrom
  return { outcome, storeId: source, movedAt: at, tables, replaced }
}

export async function withTarget<T>(
  options: Pick<MoveOptions, 'url' | 'clock' | 'random' | 'scheduler'>,
  migrate: 'always' | 'never',
  work: (driver: PostgresDriver) => Promise<T>,
): Promise<T> {
  const { url, clock, random, scheduler } = options
  const driver = await openPostgresDriver(url, { clock, random, scheduler }, migrate)
  try {
    return await work(driver)
  } finally {
    await driver.close()
  }
}
