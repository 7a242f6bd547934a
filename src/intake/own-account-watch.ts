/**
 * Learns, in the background, which account we act as. Until GitHub has answered once nobody knows;
 * the first look is waited for before anything is processed, later ones are not.
 */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import type { GitHub, OwnAccount } from '../github.ts'
import { GitHubError } from '../github/errors.ts'
import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'

const lookAgainMs = 60_000

export interface OwnAccountWatch extends BackgroundLoop {
  current(): OwnAccount | null
  /** Whether GitHub refused the credentials when it was last asked. */
  isRefused(): boolean
  /** Resolves when the first look has ended, whatever came of it. */
  readonly looked: Promise<void>
  hasLooked(): boolean
}

export interface OwnAccountWatchOptions {
  /** Null in the sandbox, where nothing of ours reaches GitHub. */
  readonly github: Pick<GitHub, 'ownAccount'> | null
  readonly scheduler: Scheduler
  readonly log: Log
}

/** Who the sandbox's events come from when they are our own. */
const sandboxAccount: OwnAccount = { login: 'holdfast', id: null, appId: null, kind: 'app' }

export function watchOwnAccount({
  github,
  scheduler,
  log,
}: OwnAccountWatchOptions): OwnAccountWatch {
  let account = github === null ? sandboxAccount : null
  let hasLooked = false
  let isRefused = false
  const { promise: looked, resolve } = Promise.withResolvers<void>()
  const endLook = (): void => {
    hasLooked = true
    resolve()
  }
  if (account !== null) endLook()
  const loop = backgroundLoop({
    scheduler,
    everyMs: lookAgainMs,
    pass: async () => {
      try {
        if (account !== null || github === null) return
        account = await github.ownAccount()
        isRefused = account === null
        if (account === null)
          log.warn('GitHub rejects the credentials. To see what is wrong: holdfast doctor')
        else log.info({ login: account.login, kind: account.kind }, 'Signed in to GitHub')
      } finally {
        endLook()
      }
    },
    onError: (error) => {
      // What GitHub answered says all there is; only a fault of our own needs its stack.
      const told = error instanceof GitHubError ? { reason: error.message } : { err: error }
      log.warn(told, 'Could not ask GitHub which account the credentials belong to')
    },
  })
  return {
    ...loop,
    current: () => account,
    isRefused: () => isRefused,
    looked,
    hasLooked: () => hasLooked,
  }
}
