/** What catching up asks of the store, over any driver. */
import type * as port from '../catch-up-store.ts'
import type { HeardHead } from '../domain/inbox.ts'
import type { Driver } from './driver.ts'
import { heardHeads, knownWebhooks } from './tables/inbox-table.ts'
import { repositoriesInUse } from './tables/repository-table.ts'

export class SqlCatchUp implements port.CatchUpStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  knownWebhooks(webhookIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#driver.read(() => knownWebhooks(webhookIds))
  }

  heardHeads(filter: port.HeardFilter, limit: number): Promise<readonly HeardHead[]> {
    return this.#driver.read(() => heardHeads(filter, limit))
  }

  repositoriesInUse(since: number, limit: number): Promise<readonly port.UsedRepository[]> {
    return this.#driver.read(() => repositoriesInUse(since, limit))
  }
}
