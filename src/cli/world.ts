/**
 * Everything outside itself that a command uses. It is passed in, so that tests can replace all of
 * it. Code that opens a store or a server is loaded only if a command needs it, so that `--help` is
 * quick.
 */
import type { catchUpBeside, checkIsOursBeside, compose } from '../compose.ts'
import type { composeWorker } from '../compose-worker.ts'
import type { openGitHub } from '../connect.ts'
import type { openEngine } from '../open-engine.ts'
import type {
  backupDatabase,
  inspectDatabase,
  moveStore,
  openStore,
  undoMove,
} from '../open-store.ts'
import type { Clock } from '../clock.ts'
import type { Random } from '../random.ts'
import type { Scheduler } from '../scheduler.ts'
import type { openStandalone } from '../standalone.ts'
import type { Environment } from '../settings/environment.ts'
import type { Writable } from 'node:stream'
import type { Terminal } from './terminal.ts'

/** What a command that `exec` starts inherits of this process. */
export interface Inherited {
  /** Whether standard input, output or error is a terminal. */
  readonly isTerminal: boolean
  readonly stdout: Writable
  readonly stderr: Writable
  /** The file mode mask that this process was started with. */
  readonly umask: number
}

export interface World {
  readonly terminal: Terminal
  readonly inherited: Inherited
  readonly env: Environment
  readonly cwd: string
  readonly version: string
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly fetch: typeof globalThis.fetch
  /**
   * Calls the handler for every stop signal, and for SIGHUP only with `alsoHangUp`. Returns a
   * function that removes the handler.
   */
  onStopSignal(handler: (signal: string) => void, alsoHangUp?: boolean): () => void
  /** Calls the handler, instead of ending the process. Returns a function that removes it. */
  onUnhandledRejection(handler: (reason: unknown) => void): () => void
  /** The same for an exception that nobody caught. The handler says if the process ends at once. */
  onUncaughtException(handler: (thrown: unknown) => 'end' | 'go-on'): () => void
  readonly compose: typeof compose
  readonly composeWorker: typeof composeWorker
  readonly openStore: typeof openStore
  readonly openEngine: typeof openEngine
  readonly openStandalone: typeof openStandalone
  readonly inspectDatabase: typeof inspectDatabase
  readonly backupDatabase: typeof backupDatabase
  readonly moveStore: typeof moveStore
  readonly undoMove: typeof undoMove
  readonly catchUpBeside: typeof catchUpBeside
  readonly checkIsOursBeside: typeof checkIsOursBeside
  openGitHub(...args: Parameters<typeof openGitHub>): Promise<ReturnType<typeof openGitHub>>
}
