/**
 * The signals with which a person or a CI system stops `exec`. SIGHUP is among them: a terminal or
 * an SSH connection was closed. The first signal counts. They are listened to until the process
 * ends, because one that comes after the answer must not change the exit code which the answer
 * names.
 */
import { constants } from 'node:os'
import type { World } from '../world.ts'

export interface Interruption {
  /** Aborts with the first signal. */
  readonly signal: AbortSignal
  /** Null until it was interrupted. */
  readonly name: NodeJS.Signals | null
  /** Called for every signal, also for further ones. */
  onEach(handler: (name: NodeJS.Signals) => void): void
}

export function watchInterruption(world: Pick<World, 'onStopSignal'>): Interruption {
  const controller = new AbortController()
  const handlers: ((name: NodeJS.Signals) => void)[] = []
  let first: NodeJS.Signals | null = null
  world.onStopSignal((given) => {
    const name = given as NodeJS.Signals
    first ??= name
    controller.abort()
    for (const handler of handlers) handler(name)
  }, true)
  return {
    signal: controller.signal,
    get name() {
      return first
    },
    onEach: (handler) => void handlers.push(handler),
  }
}

/** As a shell reports it. */
export const exitCodeOfSignal = (name: NodeJS.Signals): number => 128 + constants.signals[name]
