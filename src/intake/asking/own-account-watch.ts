/**
 * Asks GitHub, in the background, which account we act as. Events are processed only after the
 * first try, because our own events must start nothing. Nothing waits for later tries.
 */
import type { BackgroundLoop } from '../../background-loop.ts'
import { backgroundLoop } from '../../background-loop.ts'
import type { GitHub, OwnAccount } from '../../github.ts'
import { GitHubError } from '../../github/errors.ts'
import type { Log } from '../../log.ts'
import type { Scheduler } from '../../scheduler.ts'

const askAgainMs = 60_000

export interface OwnAccountWatch extends BackgroundLoop {
  current(): OwnAccount | null
  /** Whether GitHub refused the credentials when it was last asked. */
  isRefused(): boolean
  /** Resolves when the first try has ended, with or without an answer. */
  readonly firstAsked: Promise<void>
  hasAsked(): boolean
}

export interface OwnAccountWatchOptions {
  /** Null in the sandbox, where nothing of ours reaches GitHub. */
  readonly github: Pick<GitHub, 'ownAccount'> | null
  readonly scheduler: Scheduler
  readonly log: Log
}

/** The sandbox's own account. */
const sandboxAccount: OwnAccount = { login: 'holdfast', id: null, appId: null, kind: 'app' }

export function watchOwnAccount({
  github,
  scheduler,
  log,
}: OwnAccountWatchOptions): OwnAccountWatch {
  let account = github === null ? sandboxAccount : null
  let hasAsked = false
  let isRefused = false
  const { promise: firstAsked, resolve } = Promise.withResolvers<void>()
  const endFirstTry = (): void => {
    hasAsked = true
    resolve()
  }
  if (account !== null) endFirstTry()
  const loop = backgroundLoop({
    scheduler,
    everyMs: askAgainMs,
    pass: async () => {
      try {
        if (account !== null || github === null) return
        account = await github.ownAccount()
        isRefused = account === null
        if (account === null)
          log.warn('GitHub rejects the credentials. To see what is wrong: holdfast doctor')
        else log.info({ login: account.login, kind: account.kind }, 'Signed in to GitHub')
      } finally {
        endFirstTry()
      }
    },
    onError: (error) => {
      // For an error that GitHub answered, the message is enough. For a bug we need the stack.
      const about = error instanceof GitHubError ? { reason: error.message } : { err: error }
      log.warn(about, 'Could not ask GitHub which account the credentials belong to')
    },
  })
  return {
    ...loop,
    current: () => account,
    isRefused: () => isRefused,
    firstAsked,
    hasAsked: () => hasAsked,
  }
}
