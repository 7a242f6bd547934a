/**
 * Finds out whether a COMMIT succeeded whose answer was lost. PostgreSQL knows by the transaction's
 * id whether it committed, so the store asks over another connection. If it committed, the verb
 * returns its normal answer. If it was rolled back, the verb runs again. So no verb has to be safe
 * to repeat.
 *
 * The id alone is not enough. A server that crashes forgets ids of which nothing reached its disk,
 * and gives them to other transactions. After every crash it makes a checkpoint, which names the
 * next id to give. So:
 *
 *   last checkpoint                  our id is
 *   –, but a connection is older     still ours: a crash ends every connection
 *   begun before our transaction     still ours: there was no crash
 *   begun later, and knows our id    still ours: something of us was on the disk
 *   begun later, without our id      forgotten: the transaction was rolled back
 *   begun in the same second         still ours if the checkpoint knows it, else nobody can say
 *
 * What must hold: "committed" is never said of a transaction that was rolled back. One case is
 * left: a crash and a further checkpoint, with other transactions in between, while we ask.
 *
 * The result stays unknown if the server is away for longer than we ask, or if another server was
 * put in its place. Then the caller gets "unavailable".
 */
import type { Clock } from '../../clock.ts'
import { StoreUnavailableError } from '../../errors.ts'
import type { Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import type { Row, Sql } from '../sql.ts'
import { raw, sql } from '../sql.ts'

/** The server's timeline: a standby that takes over begins a new one. */
const timeline = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)'

/**
 * Read as the transaction begins, in the same round trip. Before the COMMIT it would need one of
 * its own. The id is given before the time is read, so a checkpoint of a later second knows it.
 */
export const transactionMark = `SELECT pg_current_xact_id()::text AS id,
  floor(extract(epoch FROM clock_timestamp()))::bigint::text AS second, ${timeline} AS timeline`

export interface TransactionMark {
  readonly id: string
  /** The server's time as it began, in whole seconds, as its checkpoints have it. */
  readonly second: string
  readonly timeline: string
}

/** Longer than the session's idle limit, after which the server rolls an idle transaction back. */
const askForMs = 15_000
const pauseMsFirst = 20
const pauseMsMax = 1000
/** A second limit, in case the clock stops. */
const asksMax = 30

export class UnansweredCommit extends StoreUnavailableError {
  readonly mark: TransactionMark
  /** What the verb returns if its transaction committed. */
  readonly value: unknown

  constructor(mark: TransactionMark, value: unknown, cause: unknown) {
    super('store_unreachable', 'the database did not answer a commit', {
      hint: 'It is unknown whether the change was stored. Check before you repeat it.',
      cause,
    })
    this.mark = mark
    this.value = value
  }
}

export interface FateOptions {
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly ask: (question: Sql) => Promise<readonly Row[]>
}

type Fate = 'committed' | 'aborted'

/** Rejects with `unanswered` itself if the result cannot be found out. */
export async function fateOf(
  unanswered: UnansweredCommit,
  { clock, scheduler, ask }: FateOptions,
): Promise<Fate> {
  const { mark } = unanswered
  const question = questionAbout(mark)
  const until = clock.monotonicMs() + askForMs
  let pauseMs = pauseMsFirst
  for (let asked = 1; ; asked++) {
    const fate = await ask(question).then(
      ([row]) => fateIn(row as unknown as Answer),
      (error: unknown) => {
        // It may not be asked, or it is another server than before.
        if (!(error instanceof StoreUnavailableError)) throw unanswered
        return 'later' as const
      },
    )
    if (fate === 'committed' || fate === 'aborted') return fate
    const isOver = asked >= asksMax || clock.monotonicMs() >= until
    if (fate === 'unknown' || isOver) throw unanswered
    await delay(scheduler, pauseMs)
    pauseMs = Math.min(2 * pauseMs, pauseMsMax)
  }
}

interface Answer {
  /** Null if no transaction with this or a higher id has ended yet. */
  readonly fate: 'committed' | 'aborted' | 'in progress' | null
  /** When the last checkpoint began: how many seconds after the mark. */
  readonly checkpoint: number
  /** Whether the last checkpoint knows the id. */
  readonly known: boolean
  /** A connection from before the mark is still there, so the server has not crashed since. */
  readonly survived: boolean
  readonly same_timeline: boolean
}

/** The next id of a checkpoint is written as EPOCH:ID, each of 32 bits. */
function questionAbout({ id, second, timeline: before }: TransactionMark): Sql {
  return sql`SELECT
    CASE WHEN ${id}::xid8 < pg_snapshot_xmax(pg_current_snapshot())
      THEN pg_xact_status(${id}::xid8) END AS fate,
    (floor(extract(epoch FROM checkpoint_time)) - ${second}::bigint)::float8 AS checkpoint,
    ${id}::numeric < split_part(next_xid, ':', 1)::numeric * 4294967296
      + split_part(next_xid, ':', 2)::numeric AS known,
    EXISTS (SELECT 1 FROM pg_stat_activity
      WHERE backend_start < to_timestamp(${second}::float8)) AS survived,
    ${raw(timeline)} = ${before} AS same_timeline
    FROM pg_control_checkpoint()`
}

function fateIn(answer: Answer): Fate | 'later' | 'unknown' {
  const { fate, checkpoint, known, survived, same_timeline: isSame } = answer
  if (!isSame) return 'unknown'
  const isOurs = survived || known || checkpoint < 0
  if (!isOurs && checkpoint > 0) return 'aborted'
  if (fate === 'committed') return isOurs ? fate : 'unknown'
  return fate === 'aborted' ? fate : 'later'
}
