/**
 * The very statements our claim runs, with their values: taken down by driving the claim verb, one
 * claim at a time, against a database in memory. Both databases speak the same texts, so peers
 * that replay a recording do exactly the database's part of our work and nothing of ours.
 *
 * A recording is true for a store in the state its own began in: replay it in the order it was
 * made. (Fences, which are ids of audit rows, are values in it.)
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
import type { Sql, Verb } from '../src/stores/sql.ts'
import { claimRuns } from '../src/stores/verbs/runs/claim-runs.ts'
import type { VerbContext } from '../src/stores/verbs/context.ts'

export const machine = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }

/** One claim's statements, in order. */
export type Recorded = readonly Sql[]

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
    }
  }

  /** Later claims find what earlier ones left. */
  record(claims: readonly Claim[]): Promise<Recorded[]> {
    return Promise.all(claims.map((claim) => this.#recordOne(claim)))
  }

  async #recordOne(claim: Claim): Promise<Recorded> {
    let statements: Sql[] = []
    await this.#driver.transact(() => {
      statements = []
      return listening(claimRuns(this.#context, [claim]), statements)
    })
    return statements
  }

  close(): Promise<void> {
    return this.#driver.close()
  }
}

function* listening<T>(verb: Verb<T>, statements: Sql[]): Verb<T> {
  let step = verb.next()
  while (step.done !== true) {
    statements.push(step.value)
    step = verb.next(yield step.value)
  }
  return step.value
}
