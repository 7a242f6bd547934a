/**
 * Promises that are rejected and that nobody waits for, and exceptions that nobody catches. By
 * default Node would end the process, and every run beside would lose an attempt.
 *
 *   of a run's function            logged with its run, and nothing else: only the function ends
 *                                  its run
 *   a rejection of anything else   logged, and `onBroken`: the process stops as after SIGTERM,
 *                                  gives its runs back, and is started again. A part of it may
 *                                  have stopped working.
 *   an exception of anything else  logged, and the process ends at once: the code that was cut off
 *                                  may be ours, in the middle of a change
 */
import { currentRun } from '../../current-run.ts'
import { readableCopy } from '../../texts/thrown-value.ts'
import type { World } from '../world.ts'
import type { Log } from './log.ts'

type Watched = Pick<World, 'onUnhandledRejection' | 'onUncaughtException'>

/** Returns the function that stops watching. */
export function watchUncaught(world: Watched, log: Log, onBroken: () => void): () => void {
  const stopRejections = world.onUnhandledRejection((reason) => {
    const { err, ofRun } = seen(reason)
    if (ofRun === null) {
      log.error({ err }, 'A promise was rejected and nobody waits for it, so this process stops')
      onBroken()
      return
    }
    const text = 'A promise in the function of a run was rejected, and nobody awaits it'
    log.error({ err, ...ofRun }, text)
  })
  const stopExceptions = world.onUncaughtException((thrown) => {
    const { err, ofRun } = seen(thrown)
    if (ofRun === null) {
      log.error({ err }, 'Nobody caught an exception, so this process ends at once')
      return 'end'
    }
    log.error({ err, ...ofRun }, 'Nobody caught an exception in the function of a run')
    return 'go-on'
  })
  return () => {
    stopRejections()
    stopExceptions()
  }
}

function seen(thrown: unknown) {
  const run = currentRun()
  const ofRun = run === null ? null : { run_id: run.id, type: run.type }
  return { err: readableCopy(thrown), ofRun }
}
