/**
 * The sweeper: ends or gives back what nobody attends to. Every second it looks at what is due and
 * at nothing else; any number of processes may sweep at once.
 */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'

const everyMs = 1000
const biteMax = 100

export interface SweeperOptions {
  readonly store: Pick<Store, 'beat' | 'dueRuns' | 'sweepRun'>
  readonly scheduler: Scheduler
  readonly log: Log
  /** A server answers for holders it could not hear: it notices its own absences. */
  readonly beats: boolean
  readonly onSwept: (runIds: readonly string[]) => void
}

export function createSweeper(options: SweeperOptions): BackgroundLoop {
  const { store, scheduler, log } = options

  async function sweepOne(runId: string): Promise<string | null> {
    try {
      const run = await store.sweepRun(runId)
      if (run === null) return null
      log.info({ run: runId, state: run.state, code: run.errorCode }, 'swept')
      return runId
    } catch (error) {
      log.error({ err: error, run: runId }, 'could not sweep a run')
      return null
    }
  }

  async function pass(): Promise<void> {
    if (options.beats) await store.beat()
    for (;;) {
      const due = await store.dueRuns(biteMax)
      const swept = await Promise.all(due.map(sweepOne))
      const done = swept.filter((runId) => runId !== null)
      if (done.length > 0) options.onSwept(done)
      // A bite of which nothing could be swept would come back as it is: leave it to the next pass.
      if (due.length < biteMax || done.length === 0) return
    }
  }

  return backgroundLoop({
    scheduler,
    everyMs,
    pass,
    onError: (error) => log.error({ err: error }, 'the sweeper could not finish a pass'),
  })
}
