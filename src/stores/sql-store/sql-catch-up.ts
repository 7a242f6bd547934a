/** The store's verbs for catch-up. */
import type * as port from '../../store/catch-up-store.ts'
import type { EventHead, InboxEntry } from '../../domain/inbox.ts'
import type { Verb } from '../sql.ts'
import { forgetHeadCheck, headChecksWaiting } from '../tables/head-check-table.ts'
import { eventHeads, knownWebhooks, lastEvent, hasStateEvent } from '../tables/inbox-table.ts'
import { noteLooked, quietRepositories, repositoriesInUse } from '../tables/repository-table.ts'
import { readState, writeState } from '../tables/state-table.ts'
import { takeHeadCheck } from '../verbs/runs/take-head-check.ts'
import type { VerbRunner } from './verb-runner.ts'

export class SqlCatchUp implements port.CatchUpStore {
  readonly #runner: VerbRunner

  constructor(runner: VerbRunner) {
    this.#runner = runner
  }

  knownWebhooks(webhookIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#runner.read(() => knownWebhooks(webhookIds))
  }

  eventHeads(filter: port.LaneEventFilter, limit: number): Promise<readonly EventHead[]> {
    return this.#runner.read(() => eventHeads(filter, limit))
  }

  lastEvent(filter: port.LaneEventFilter): Promise<InboxEntry | null> {
    return this.#runner.read(() => lastEvent(filter))
  }

  hasStateEvent(lane: string, state: 'open' | 'closed'): Promise<boolean | null> {
    return this.#runner.read(() => hasStateEvent(lane, state))
  }

  repositoriesInUse(since: number, limit: number): Promise<port.UsedRepositories> {
    return this.#runner.read(() => repositoriesInUse(since, limit))
  }

  quietRepositories(since: number, limit: number): Promise<port.QuietRepositories> {
    const now = this.#runner.context.now()
    return this.#runner.read(function* () {
      const after = (yield* readState('quiet_looked_to')) ?? ''
      const found = yield* quietRepositories(since, after, limit, now)
      // After the last one, it starts again with the first.
      return found.items.length === 0 ? yield* quietRepositories(since, '', limit, now) : found
    })
  }

  noteQuietLooked({ githubId, place }: port.QuietRepository): Promise<void> {
    const now = this.#runner.context.now()
    return this.#runner.transact(function* () {
      yield* noteLooked(githubId, now)
      yield* writeState('quiet_looked_to', place)
    })
  }

  noteLooked(githubId: number): Promise<void> {
    return this.#runner.transact(() => noteLooked(githubId, this.#runner.context.now()))
  }

  deliveriesRead(): Promise<port.DeliveriesRead | null> {
    return this.#runner.read(deliveriesRead)
  }

  noteDeliveriesRead(read: port.DeliveriesRead): Promise<void> {
    return this.#runner.transact(() => writeState('deliveries_read', JSON.stringify(read)))
  }

  takeHeadCheck(): Promise<port.TakenHeadCheck | null> {
    return this.#runner.transact(() => takeHeadCheck(this.#runner.context))
  }

  forgetHeadCheck(runId: string, fence: number): Promise<void> {
    return this.#runner.transact(() => forgetHeadCheck(runId, fence))
  }

  backlog(): Promise<port.CatchUpBacklog> {
    return this.#runner.read(backlog)
  }
}

function* deliveriesRead(): Verb<port.DeliveriesRead | null> {
  const stored = yield* readState('deliveries_read')
  return stored === null ? null : (JSON.parse(stored) as port.DeliveriesRead)
}

function* backlog(): Verb<port.CatchUpBacklog> {
  const headChecks = yield* headChecksWaiting()
  const read = yield* deliveriesRead()
  const deliveriesUnfetched = (read?.owed ?? []).map(({ guid }) => guid)
  return {
    headChecks,
    deliveriesUnread: read !== null && read.gap !== null,
    deliveriesUnfetched: deliveriesUnfetched,
  }
}
