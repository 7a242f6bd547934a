/**
 * Opens the engine that the settings name. This is the only file that names concrete engines.
 * BullMQ and its Redis client are loaded only if there is a queue. Without one they would cost
 * start time and memory for nothing.
 */
import type { Engine } from './engine.ts'
import { createEmbeddedEngine } from './engines/embedded.ts'
import type { Log } from './log.ts'
import type { Machine } from './open-store.ts'
import type { Settings } from './settings/settings.ts'

export { createEmbeddedEngine } from './engines/embedded.ts'

export interface OpenEngineOptions extends Machine {
  readonly log: Log
  /** The store's id. It is asked for only if there is a queue. */
  readonly storeId: () => Promise<string>
}

/** Does not wait for the queue: it may be away. */
export async function openEngine(
  { queueUrl, runs }: Pick<Settings, 'queueUrl' | 'runs'>,
  options: OpenEngineOptions,
): Promise<Engine> {
  if (queueUrl === null) return createEmbeddedEngine(options.scheduler)
  const [storeId, bullmq] = await Promise.all([
    options.storeId(),
    import('./engines/bullmq/bullmq-engine.ts'),
  ])
  return bullmq.openBullmqEngine({ ...options, url: queueUrl, storeId, types: Object.keys(runs) })
}
