/**
 * What became of a COMMIT whose answer never came. PostgreSQL remembers by the transaction's id
 * whether it committed, so the store asks over another connection: a committed verb answers what
 * it would have answered, a rolled back one runs again. No verb has to be safe to repeat for this.
 *
 * A server that stays away for longer than we ask leaves it unknown, and so does another server
 * that was put in its place: then the caller hears "unavailable".
 */
import type { Clock } from '../../clock.ts'
import { StoreUnavailableError } from '../../errors.ts'
import type { Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import type { Row, Sql } from '../sql.ts'
import { raw, sql } from '../sql.ts'

/** Null when nothing was written. */
export const transactionId = raw('SELECT pg_current_xact_id_if_assigned()::text AS id')

/** Above the session's idle limit, after which the server has ended what it never heard more of. */
const askForMs = 15_000
const pauseMsFirst = 20
const pauseMsMax = 1000
/** So that it ends whatever the clock does. */
const asksMax = 30

export class UnansweredCommit extends StoreUnavailableError {
  readonly transactionId: string | null
  /** What the verb answers if its transaction committed. */
  readonly value: unknown

  constructor(id: string | null, value: unknown, cause: unknown) {
    super('store_unreachable', 'the database did not answer a commit', {
      hint: 'It is unknown whether the change was stored. Look before you repeat it.',
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

/** Rejects with `unanswered` itself when nobody can tell. */
export async function fateOf(
  unanswered: UnansweredCommit,
  { clock, scheduler, ask }: FateOptions,
): Promise<'committed' | 'aborted'> {
  const { transactionId: id } = unanswered
  // It wrote nothing: there is nothing to be in doubt about.
  if (id === null) return 'committed'
  const question = sql`SELECT pg_xact_status(${id}::xid8) AS fate`
  const until = clock.monotonicMs() + askForMs
  let pauseMs = pauseMsFirst
  for (let asked = 1; ; asked++) {
    const fate = await ask(question).then(
      ([row]) => row?.['fate'],
      (error: unknown) => {
        // The server does not know this id: it is not the one that we talked to.
        if (!(error instanceof StoreUnavailableError)) throw unanswered
      },
    )
    if (fate === 'committed' || fate === 'aborted') return fate
    // Null: so long ago that the server has forgotten it.
    if (fate === null || asked >= asksMax || clock.monotonicMs() >= until) throw unanswered
    await delay(scheduler, pauseMs)
    pauseMs = Math.min(2 * pauseMs, pauseMsMax)
  }
}
