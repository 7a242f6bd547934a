/**
 * Who we publish as. What stands on GitHub is ours only by its author's number, so the present one
 * is learnt and stored before the first write: after it, a crash must find its own traces.
 */
import type { Authors } from '../channels/authors.ts'
import type { Clock } from '../clock.ts'
import type { GitHub } from '../github.ts'
import { GitHubError, trouble } from '../github/errors.ts'
import type { OutboxStore } from '../store/outbox-store.ts'

/** Another process may publish under another account. */
const keptMs = 60_000

export interface OwnAuthors {
  /** Rejects while it is not known who we are: then nothing may be written. */
  learn(): Promise<void>
  /** The credentials may be others by now: the next one who learns asks again. */
  forget(): void
  all(): Promise<Authors>
}

export function createOwnAuthors(
  github: Pick<GitHub, 'ownAccount'>,
  store: Pick<OutboxStore, 'authors' | 'learnAuthor'>,
  clock: Clock,
): OwnAuthors {
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
    all() {
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
