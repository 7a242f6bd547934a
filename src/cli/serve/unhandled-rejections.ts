/**
 * Promises that are rejected and that nobody waits for. By default Node would end the process, and
 * every run beside would lose an attempt.
 *
 *   of a run's function   logged with its run, and nothing else: only the function ends its run
 *   of anything else      logged, and `onBroken`: the process stops as after SIGTERM, gives its
 *                         runs back, and is started again. A part of it may have stopped working.
 */
import { currentRun } from '../../current-run.ts'
import type { World } from '../world.ts'
import type { Log } from './log.ts'

/** Returns the function that stops watching. */
export function watchRejections(
  world: Pick<World, 'onUnhandledRejection'>,
  log: Log,
  onBroken: () => void,
): () => void {
  return world.onUnhandledRejection((err) => {
    const run = currentRun()
    if (run === null) {
      log.error({ err }, 'A promise was rejected and nobody waits for it, so this process stops')
      onBroken()
      return
    }
    const about = { err, run_id: run.id, type: run.type }
    log.error(about, 'A promise in the function of a run was rejected, and nobody awaits it')
  })
}
