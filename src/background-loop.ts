/**
 * How every background loop starts, runs its passes and stops.
 *
 * What must hold: passes never overlap. A failing pass is reported, and the loop goes on. `stop`
 * resolves after the current pass has ended, and no pass begins after that.
 */
import type { Cancel, Scheduler } from './scheduler.ts'

export interface BackgroundLoop {
  start(): void
  /** Runs a pass now, or right after the current one, and resolves when it has ended. */
  kick(): Promise<void>
  stop(): Promise<void>
}

export interface BackgroundLoopOptions {
  readonly scheduler: Scheduler
  readonly everyMs: number
  readonly pass: () => Promise<void>
  readonly onError: (error: unknown) => void
}

export function backgroundLoop(options: BackgroundLoopOptions): BackgroundLoop {
  let state: 'new' | 'started' | 'stopped' = 'new'
  let cancelTimer: Cancel | undefined
  let tail: Promise<void> = Promise.resolve()

  function runPass(): Promise<void> {
    tail = tail.then(async () => {
      if (state === 'stopped') return
      try {
        await options.pass()
      } catch (error) {
        options.onError(error)
      }
    })
    return tail
  }

  function arm(): void {
    if (state !== 'started') return
    cancelTimer = options.scheduler.afterInBackground(
      options.everyMs,
      () => void runPass().then(arm),
    )
  }

  return {
    start() {
      if (state !== 'new') return
      state = 'started'
      arm()
    },
    kick: runPass,
    async stop() {
      state = 'stopped'
      cancelTimer?.()
      await tail
    },
  }
}
