/** What catching up asks of the store, over any driver. */
import type * as port from '../catch-up-store.ts'
import type { HeardHead, InboxEntry } from '../domain/inbox.ts'
import type { Driver } from './driver.ts'
import type { Verb } from './sql.ts'
import { forgetHeadCheck, headChecksWaiting } from './tables/head-check-table.ts'
import { heardHeads, knownWebhooks, lastHeard, wasStateHeard } from './tables/inbox-table.ts'
import { noteLooked, quietRepositories, repositoriesInUse } from './tables/repository-table.ts'
import type { VerbContext } from './verbs/context.ts'
import { readState, writeState } from './verbs/state.ts'
import { takeHeadCheck } from './verbs/take-head-check.ts'

export class SqlCatchUp implements port.CatchUpStore {
  readonly #driver: Driver
  readonly #context: VerbContext

  constructor(driver: Driver, context: VerbContext) {
    this.#driver = driver
    this.#context = context
  }

  knownWebhooks(webhookIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#driver.read(() => knownWebhooks(webhookIds))
  }

  heardHeads(filter: port.HeardFilter, limit: number): Promise<readonly HeardHead[]> {
    return this.#driver.read(() => heardHeads(filter, limit))
  }

  lastHeard(filter: port.HeardFilter): Promise<InboxEntry | null> {
    return this.#driver.read(() => lastHeard(filter))
  }

  wasStateHeard(lane: string, state: 'open' | 'closed'): Promise<boolean | null> {
    return this.#driver.read(() => wasStateHeard(lane, state))
  }

  repositoriesInUse(since: number, limit: number): Promise<port.UsedRepositories> {
    return this.#driver.read(() => repositoriesInUse(since, limit))
  }

  quietRepositories(since: number, limit: number): Promise<port.QuietRepositories> {
    const now = this.#context.now()
    return this.#driver.read(function* () {
      const after = (yield* readState('quiet_looked_to')) ?? ''
      const found = yield* quietRepositories(since, after, limit, now)
      // Behind the last one it begins anew.
      return found.items.length === 0 ? yield* quietRepositories(since, '', limit, now) : found
    })
  }

  noteQuietLooked({ githubId, place }: port.QuietRepository): Promise<void> {
    const now = this.#context.now()
    return this.#driver.transact(function* () {
      yield* noteLooked(githubId, now)
      yield* writeState('quiet_looked_to', place)
    })
  }

  noteLooked(githubId: number): Promise<void> {
    return this.#driver.transact(() => noteLooked(githubId, this.#context.now()))
  }

  deliveriesRead(): Promise<port.DeliveriesRead | null> {
    return this.#driver.read(deliveriesRead)
  }

  noteDeliveriesRead(read: port.DeliveriesRead): Promise<void> {
    return this.#driver.transact(() => writeState('deliveries_read', JSON.stringify(read)))
  }

  takeHeadCheck(): Promise<port.TakenHeadCheck | null> {
    return this.#driver.transact(() => takeHeadCheck(this.#context))
  }

  forgetHeadCheck(runId: string, fence: number): Promise<void> {
    return this.#driver.transact(() => forgetHeadCheck(runId, fence))
  }

  backlog(): Promise<port.CatchUpBacklog> {
    return this.#driver.read(backlog)
  }
}

function* deliveriesRead(): Verb<port.DeliveriesRead | null> {
  const stored = yield* readState('deliveries_read')
  return stored === null ? null : (JSON.parse(stored) as port.DeliveriesRead)
}

function* backlog(): Verb<port.CatchUpBacklog> {
  const headChecks = yield* headChecksWaiting()
  const read = yield* deliveriesRead()
  const deliveriesOwed = (read?.owed ?? []).map(({ guid }) => guid)
  return { headChecks, deliveriesUnread: read !== null && read.gap !== null, deliveriesOwed }
}
