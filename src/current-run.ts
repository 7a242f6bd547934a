/**
 * Which run the present code works for: known inside a handler and inside everything that it
 * starts, also after an `await`, in a timer, and where a rejection or an exception is reported that
 * nobody handles.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface CurrentRun {
  readonly id: string
  readonly type: string
}

const current = new AsyncLocalStorage<CurrentRun | null>()

export const currentRun = (): CurrentRun | null => current.getStore() ?? null

export const asRun = <T>(run: CurrentRun, work: () => T): T => current.run(run, work)

/** For what the code of a run asks of Holdfast: if that goes wrong, it is not the run's fault. */
export const outsideRuns = <T>(work: () => T): T => current.run(null, work)
