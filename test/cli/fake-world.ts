/**
 * The environment of a command for tests: output is collected, and the test fires signals and
 * timers.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { catchUpBeside, checkIsOursBeside } from '../../src/compose.ts'
import { openEngine } from '../../src/open-engine.ts'
import { backupDatabase, inspectDatabase, moveStore, undoMove } from '../../src/open-store.ts'
import type { App, ComposeOptions } from '../../src/compose.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { systemClock } from '../../src/clock.ts'
import { systemRandom } from '../../src/random.ts'
import { openStandalone } from '../../src/standalone.ts'
import type { NewToken, Store, StorePart } from '../../src/store.ts'
import { runCommandLine } from '../../src/cli/run-command-line.ts'
import type { World } from '../../src/cli/world.ts'

export class FakeWorld implements World {
  readonly cwd = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  readonly version = '1.2.3'
  readonly clock = systemClock
  readonly random = systemRandom
  env: Record<string, string> = {}
  stdout = ''
  stderr = ''
  /** Resolves when something was written to standard output. */
  readonly printed = Promise.withResolvers<string>()
  readonly closing = Promise.withResolvers<undefined>()
  readonly timers = new Map<number, () => void>()
  readonly madeTokens: NewToken[] = []
  composed: { readonly settings: Settings; readonly options: ComposeOptions } | null = null
  stopHandlers: ((signal: string) => void)[] = []
  rejectionHandlers: ((reason: unknown) => void)[] = []
  exceptionHandlers: ((thrown: unknown) => 'end' | 'go-on')[] = []
  closes = 0
  storesOpen = 0

  readonly #looks = new Set<() => void>()
  readonly #gone = new AbortController()

  readonly terminal = {
    out: (text: string): void => {
      this.stdout += text
      this.printed.resolve(text)
      for (const look of this.#looks) look()
    },
    err: (text: string): void => {
      this.stderr += text
    },
    // Standard output is a pipe, unless a test sets this.
    columns: null as number | null,
    errColumns: null as number | null,
    colour: false,
    watched: false,
    logStyle: 'json' as World['terminal']['logStyle'],
    gone: this.#gone.signal,
    lostAnswer: () => false,
  }
  readonly inherited = {
    isTerminal: false,
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    umask: 0o022,
  }
  readonly scheduler = {
    soon: (task: () => void): void => queueMicrotask(task),
    after: (ms: number, task: () => void): (() => void) => {
      this.timers.set(ms, task)
      return () => void this.timers.delete(ms)
    },
    afterInBackground: (): (() => void) => () => undefined,
  }

  fetch: World['fetch'] = () => Promise.reject(new Error('no network in this test'))

  onStopSignal(handler: (signal: string) => void): () => void {
    this.stopHandlers.push(handler)
    return () => {
      this.stopHandlers = this.stopHandlers.filter((other) => other !== handler)
    }
  }

  onUnhandledRejection(handler: (reason: unknown) => void): () => void {
    this.rejectionHandlers.push(handler)
    return () => {
      this.rejectionHandlers = this.rejectionHandlers.filter((other) => other !== handler)
    }
  }

  /** A promise was rejected, and nobody waits for it. */
  reject(reason: unknown): void {
    for (const handler of this.rejectionHandlers) handler(reason)
  }

  onUncaughtException(handler: (thrown: unknown) => 'end' | 'go-on'): () => void {
    this.exceptionHandlers.push(handler)
    return () => {
      this.exceptionHandlers = this.exceptionHandlers.filter((other) => other !== handler)
    }
  }

  /** An exception was thrown, and nobody caught it. */
  throwUncaught(thrown: unknown): readonly ('end' | 'go-on')[] {
    return this.exceptionHandlers.map((handler) => handler(thrown))
  }

  stop(signal: string): void {
    for (const handler of this.stopHandlers) handler(signal)
  }

  /** Resolves when standard output contains this text. */
  untilPrinted(text: string): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.stdout.includes(text)) return
        this.#looks.delete(look)
        resolve()
      }
      this.#looks.add(look)
      look()
    })
  }

  /** Stops reading, as `| head` does when it has enough lines. */
  stopReading(): void {
    this.#gone.abort()
  }

  listen: App['listen'] = () => Promise.resolve({ url: 'http://127.0.0.1:8787' })
  close: App['close'] = () => Promise.resolve(0)
  ownAccount: App['ownAccount'] = () => Promise.resolve(null)
  restoreNote: App['restoreNote'] = () => Promise.resolve(null)

  compose: World['compose'] = (settings, options) => {
    this.composed = { settings, options }
    const app = {
      ownAccount: () => this.ownAccount(),
      restoreNote: () => this.restoreNote(),
      listen: () => this.listen(),
      close: async () => {
        this.closes++
        this.closing.resolve(undefined)
        return await this.close()
      },
    }
    return Promise.resolve(app as App)
  }

  composeWorker: World['composeWorker'] = () => Promise.reject(new Error('there is no worker'))

  openStore: World['openStore'] = () => {
    this.storesOpen++
    const store: StorePart<{ tokens: 'create' }> & Pick<Store, 'close'> = {
      tokens: {
        create: (token) => {
          this.madeTokens.push(token)
          const { scope, name, userId, secret } = token
          const limits = { repositories: null, types: null }
          const times = { createdAt: 0, expiresAt: null, lastUsedAt: null }
          return Promise.resolve({
            token: { id: 'tok_1', scope, name, userId, limits, ...times },
            secret,
          })
        },
      },
      close: () => {
        this.storesOpen--
        return Promise.resolve()
      },
    }
    return Promise.resolve(store as Store)
  }

  openGitHub: World['openGitHub'] = () => Promise.resolve(null)
  openEngine: World['openEngine'] = openEngine
  openStandalone: World['openStandalone'] = openStandalone
  inspectDatabase: World['inspectDatabase'] = inspectDatabase
  backupDatabase: World['backupDatabase'] = backupDatabase
  moveStore: World['moveStore'] = moveStore
  undoMove: World['undoMove'] = undoMove
  catchUpBeside: World['catchUpBeside'] = catchUpBeside
  checkIsOursBeside: World['checkIsOursBeside'] = checkIsOursBeside

  run(...argv: readonly string[]): Promise<number> {
    return runCommandLine(argv, this)
  }
}
