/**
 * How a long-running command ends: by a signal, or because its work is stuck or a part of it broke.
 *
 *   starting ── started ──▶ running ── first signal ──▶ draining ── drained ──▶ exit 0
 *      └────── first signal ─────────────────────────────▲  └── too long, or cut off ──▶ exit 1
 *
 * Further signals change nothing while it drains. SIGKILL ends it at once.
 */
import { exitCodes } from '../failure.ts'
import type { World } from '../world.ts'
import type { Log } from './log.ts'

/** After `shutdownMs` work is stopped: SIGTERM, 5 s later SIGKILL, and then its run is released. */
export const cutOffMs = 8000

export interface StopSignal {
  readonly signal: Promise<string>
  /**
   * Does nothing after a signal: another one may come when everything has stopped, and the exit
   * code stays.
   */
  stopListening(): void
}

export function firstStopSignal(world: World): StopSignal {
  const { promise: signal, resolve } = Promise.withResolvers<string>()
  let isStopped = false
  const removeHandler = world.onStopSignal((given) => {
    isStopped = true
    resolve(given)
  })
  return {
    signal,
    stopListening: () => {
      if (!isStopped) removeHandler()
    },
  }
}

export interface Draining {
  readonly world: World
  readonly log: Log
  readonly shutdownMs: number
  /** Whether this process executes runs itself. */
  readonly executes: boolean
}

/** `close` returns how many runs were stopped in the middle of their work. */
export async function drain(
  { world, log, shutdownMs, executes }: Draining,
  close: () => Promise<number>,
): Promise<number> {
  const { promise: tooLong, resolve } = Promise.withResolvers<'too long'>()
  const limitMs = shutdownMs + (executes ? cutOffMs : 0)
  const cancel = world.scheduler.after(limitMs, () => resolve('too long'))
  try {
    const closed = await Promise.race([close(), tooLong])
    if (closed === 0) {
      log.info('Stopped')
      return exitCodes.fine
    }
    log.error(
      closed === 'too long'
        ? `Work was still going on ${limitMs} ms after the signal (HOLDFAST_SHUTDOWN_MS is ` +
            `${shutdownMs}), so it was cut off. It is continued when its leases have ended`
        : `${closed} ${closed === 1 ? 'run was' : 'runs were'} still going on after ` +
            `${shutdownMs} ms (HOLDFAST_SHUTDOWN_MS) and given back. Another process, or the ` +
            'next start, continues',
    )
    return exitCodes.failed
  } finally {
    cancel()
  }
}
