/**
 * Which run the present code works for: known inside a handler and inside everything that it
 * starts, also after an `await`, in a timer, and where the rejection of a promise is reported.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface CurrentRun {
  readonly id: string
  readonly type: string
}

const current = new AsyncLocalStorage<CurrentRun>()

export const currentRun = (): CurrentRun | null => current.getStore() ?? null

export const asRun = <T>(run: CurrentRun, work: () => T): T => current.run(run, work)
