/** What catching up asks of the store. */
import type * as port from '../../store/catch-up-store.ts'
import type { HeardHead, InboxEntry } from '../../domain/inbox.ts'
import type { Verb } from '../sql.ts'
import { forgetHeadCheck, headChecksWaiting } from '../tables/head-check-table.ts'
import { heardHeads, knownWebhooks, lastHeard, wasStateHeard } from '../tables/inbox-table.ts'
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

  heardHeads(filter: port.HeardFilter, limit: number): Promise<readonly HeardHead[]> {
    return this.#runner.read(() => heardHeads(filter, limit))
  }

  lastHeard(filter: port.HeardFilter): Promise<InboxEntry | null> {
    return this.#runner.read(() => lastHeard(filter))
  }

  wasStateHeard(lane: string, state: 'open' | 'closed'): Promise<boolean | null> {
    return this.#runner.read(() => wasStateHeard(lane, state))
  }

  repositoriesInUse(since: number, limit: number): Promise<port.UsedRepositories> {
    return this.#runner.read(() => repositoriesInUse(since, limit))
  }

  quietRepositories(since: number, limit: number): Promise<port.QuietRepositories> {
    const now = this.#runner.context.now()
    return this.#runner.read(function* () {
      const after = (yield* readState('quiet_looked_to')) ?? ''
      const found = yield* quietRepositories(since, after, limit, now)
      // Behind the last one it begins anew.
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
