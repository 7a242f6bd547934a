/**
 * The GitHub account that we publish as. We recognise our own comments by the id of their author.
 * So our id is learnt and stored before the first write: after a crash, the next process must
 * recognise what this one wrote.
 */
import type { Authors } from '../channels/parts.ts'
import type { Clock } from '../clock.ts'
import type { GitHub } from '../github.ts'
import { GitHubError, trouble } from '../github/errors.ts'
import type { OutboxStore } from '../store/outbox-store.ts'

/** Another process may publish as another account, so the list is read again after this time. */
const keptMs = 60_000

export interface OwnAccount {
  /** Rejects while our account is not known. Then nothing may be written. */
  learn(): Promise<void>
  /** The credentials may have changed: the next `learn` asks GitHub again. */
  forget(): void
  /** Every account that this store has published as. */
  authors(): Promise<Authors>
}

export function createOwnAccount(
  github: Pick<GitHub, 'ownAccount'>,
  store: Pick<OutboxStore, 'authors' | 'learnAuthor'>,
  clock: Clock,
): OwnAccount {
  let learnt: Promise<void> | null = null
  let kept: { readonly until: number; readonly authors: Promise<Authors> } | null = null

  async function learnNow(): Promise<void> {
    const account = await github.ownAccount()
    if (account === null) {
      const facts = { route: 'GET /user', status: 401, requestId: '', githubRequestId: null }
      throw new GitHubError(trouble('unauthorized'), facts)
    }
    const { id, appId } = account
    if (id !== null) await store.learnAuthor({ kind: 'user', githubId: id })
    if (appId !== null) await store.learnAuthor({ kind: 'app', githubId: appId })
    kept = null
  }

  return {
    learn() {
      learnt ??= learnNow().catch((error: unknown) => {
        learnt = null
        throw error
      })
      return learnt
    },
    forget() {
      learnt = null
    },
    authors() {
      const now = clock.monotonicMs()
      if (kept === null || kept.until <= now) {
        kept = { until: now + keptMs, authors: store.authors().then(asAuthors) }
        kept.authors.catch(() => (kept = null))
      }
      return kept.authors
    },
  }
}

function asAuthors(listed: Awaited<ReturnType<OutboxStore['authors']>>): Authors {
  const idsOf = (kind: 'user' | 'app') =>
    new Set(listed.filter((author) => author.kind === kind).map(({ githubId }) => githubId))
  return { userIds: idsOf('user'), appIds: idsOf('app') }
}
