/**
 * Finds out whether a COMMIT succeeded whose answer was lost. PostgreSQL knows by the transaction's
 * id whether it committed, so the store asks over another connection. If it committed, the verb
 * returns its normal answer. If it was rolled back, the verb runs again. So no verb has to be safe
 * to repeat.
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

/** The id is null if nothing was written. */
export const transactionId = raw('SELECT pg_current_xact_id_if_assigned()::text AS id')

/** Longer than the session's idle limit, after which the server rolls an idle transaction back. */
const askForMs = 15_000
const pauseMsFirst = 20
const pauseMsMax = 1000
/** A second limit, in case the clock stops. */
const asksMax = 30

export class UnansweredCommit extends StoreUnavailableError {
  readonly transactionId: string | null
  /** What the verb returns if its transaction committed. */
  readonly value: unknown

  constructor(id: string | null, value: unknown, cause: unknown) {
    super('store_unreachable', 'the database did not answer a commit', {
      hint: 'It is unknown whether the change was stored. Check before you repeat it.',
      cause,
    })
    this.transactionId = id
    this.value = value
  }
}

export interface FateOptions {
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly ask: (question: Sql) => Promise<readonly Row[]>
}

/** Rejects with `unanswered` itself if the result cannot be found out. */
export async function fateOf(
  unanswered: UnansweredCommit,
  { clock, scheduler, ask }: FateOptions,
): Promise<'committed' | 'aborted'> {
  const { transactionId: id } = unanswered
  // The transaction wrote nothing, so it does not matter whether it committed.
  if (id === null) return 'committed'
  const question = sql`SELECT pg_xact_status(${id}::xid8) AS fate`
  const until = clock.monotonicMs() + askForMs
  let pauseMs = pauseMsFirst
  for (let asked = 1; ; asked++) {
    const fate = await ask(question).then(
      ([row]) => row?.['fate'],
      (error: unknown) => {
        // The server does not know this id, so it is another server than before.
        if (!(error instanceof StoreUnavailableError)) throw unanswered
      },
    )
    if (fate === 'committed' || fate === 'aborted') return fate
    // Null means that the transaction is so old that the server has forgotten it.
    if (fate === null || asked >= asksMax || clock.monotonicMs() >= until) throw unanswered
    await delay(scheduler, pauseMs)
    pauseMs = Math.min(2 * pauseMs, pauseMsMax)
  }
}
