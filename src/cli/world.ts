/**
 * Everything a command touches outside itself, handed in so that tests own all of it. What
 * opens a store or a server is loaded only when a command needs it, which keeps `--help` quick.
 */
import type { catchUpBeside, checkIsOursBeside, compose, openGitHub } from '../compose.ts'
import type { backupDatabase, inspectDatabase, openStore } from '../open-store.ts'
import type { Clock } from '../clock.ts'
import type { Random } from '../random.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Environment } from '../settings/environment.ts'
import type { Terminal } from './terminal.ts'

export interface World {
  readonly terminal: Terminal
  readonly env: Environment
  readonly cwd: string
  readonly version: string
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly fetch: typeof globalThis.fetch
  /** Calls back for every request to stop; answers how to end that. */
  onStopSignal(handler: (signal: string) => void): () => void
  readonly compose: typeof compose
  readonly openStore: typeof openStore
  readonly inspectDatabase: typeof inspectDatabase
  readonly backupDatabase: typeof backupDatabase
  readonly catchUpBeside: typeof catchUpBeside
  readonly checkIsOursBeside: typeof checkIsOursBeside
  openGitHub(...args: Parameters<typeof openGitHub>): Promise<ReturnType<typeof openGitHub>>
}
