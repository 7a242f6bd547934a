/**
 * Records the statements that our claims run, with their values. The claim verb runs on a database
 * in memory, one claim at a time. Both databases have the same statements. So a peer that replays a
 * recording does exactly the work of the database, and nothing of our own work.
 *
 * The values contain fences, which are ids of audit rows. So recordings must be replayed in the
 * order in which they were made, beginning with an empty store.
 */
import { systemClock } from '../src/clock.ts'
import type { Claim } from '../src/domain/claim.ts'
import { defaultPublishing } from '../src/domain/outbox/schedule.ts'
import { channelsByName } from '../src/channels/github-channels.ts'
import { makeId } from '../src/ids.ts'
import { systemRandom } from '../src/random.ts'
import { systemScheduler } from '../src/scheduler.ts'
import type { SqliteDriver } from '../src/stores/drivers/sqlite.ts'
import { openSqliteDriver } from '../src/stores/open-sqlite.ts'
import { InsertRows, type Sql, type Verb } from '../src/stores/sql.ts'
import { claimRuns } from '../src/stores/verbs/runs/claim-runs.ts'
import type { VerbContext } from '../src/stores/verbs/context.ts'

export const machine = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }

/** One claim's statements, in order. */
export type ClaimStatements = readonly Sql[]

export class Recorder {
  readonly #driver: SqliteDriver
  readonly #context: VerbContext

  constructor() {
    const driver = openSqliteDriver({ path: ':memory:', exclusive: false }, machine)
    this.#driver = driver
    this.#context = {
      dialect: driver.dialect,
      now: () => driver.now(),
      moment: () => ({ now: driver.now(), interruptions: [] }),
      newId: (prefix) => makeId(prefix, driver.now(), systemRandom),
      jitter: () => 0,
      publishing: defaultPublishing,
      channels: channelsByName,
      restoredAt: () => null,
      newMarkerKey: () => ({ id: 'bench', secret: 'bench' }),
      newStoreId: () => 'bench',
    }
  }

  /** A later claim sees the rows of the earlier ones. */
  record(claims: readonly Claim[]): Promise<ClaimStatements[]> {
    return Promise.all(claims.map((claim) => this.#recordOne(claim)))
  }

  async #recordOne(claim: Claim): Promise<ClaimStatements> {
    let statements: Sql[] = []
    await this.#driver.transact(() => {
      statements = []
      return recordStatements(claimRuns(this.#context, [claim]), statements)
    })
    return statements
  }

  close(): Promise<void> {
    return this.#driver.close()
  }
}

function* recordStatements<T>(verb: Verb<T>, statements: Sql[]): Verb<T> {
  let step = verb.next()
  while (step.done !== true) {
    const { value } = step
    statements.push(...(value instanceof InsertRows ? value.pieces : [value]))
    step = verb.next(yield step.value)
  }
  return step.value
}
