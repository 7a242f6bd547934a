/** Engines on a private Redis: each instance stands for a process of its own. */
import { openBullmqEngine } from '../../../src/engines/bullmq/bullmq-engine.ts'
import type { Engine } from '../../../src/engine.ts'
import { systemMachine } from '../../../src/open-store.ts'

export interface LogLine {
  readonly level: string
  readonly text: string
}

const open: Engine[] = []

let stores = 0

/** The id of an installation that no other test uses. */
export function newStoreId(): string {
  stores += 1
  return `store${process.pid}x${stores}`
}

export function openEngine(url: string, storeId: string, lines: LogLine[] = []): Engine {
  const at =
    (level: string) =>
    (...args: readonly unknown[]): void =>
      void lines.push({ level, text: String(args.at(-1)) })
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const engine = openBullmqEngine({ ...systemMachine, url, storeId, types: [], log })
  open.push(engine)
  return engine
}

/** For `afterEach`. */
export async function stopEngines(): Promise<void> {
  await Promise.all(open.splice(0).map((engine) => engine.stop()))
}
