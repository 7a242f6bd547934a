/**
 * Learns GitHub's id of a repository that is known by name alone, or whose id only a caller gave.
 * GitHub is asked once, before the first write or look there, and the id is stored. From then on
 * the repository is addressed by its id, even if its name goes to another one. If GitHub has
 * another id under the name than the caller gave, nothing is written.
 *
 * After that the delivery is leased again for its next step, because two rows of ours may have
 * turned out to be one repository.
 */
import type { Admission } from '../channel.ts'
import type { Clock } from '../clock.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import type { GitHubCalls } from '../github.ts'
import { isGitHubError } from '../github/errors.ts'
import { learnRename } from '../learn-rename.ts'
import { failureOfLook } from '../outbox/classify-error.ts'
import { toStoreTime, type RepositoryIds } from '../outbox/publishing-parts.ts'
import type { Store } from '../store.ts'

interface RepositoryIdsParts {
  readonly github: Pick<GitHubCalls, 'repositoryNamed'>
  readonly admission: Admission
  readonly store: Store
  readonly clock: Clock
}

/** GitHub's id for the name, or until when GitHub may not be asked. */
type Learnt = { readonly githubId: number } | { readonly until: number }

export function createRepositoryIds(parts: RepositoryIdsParts): RepositoryIds {
  const { github, admission, store, clock } = parts
  const asked = new Map<string, Promise<Learnt>>()
  const toStoresTime = toStoreTime({ store, clock })

  async function learnNow(repo: string, givenId: number | null): Promise<Learnt> {
    const place = { repo, repoGithubId: null, address: null }
    const entry = await admission.enter(place)
    if ('until' in entry) return { until: entry.until }
    const { identity } = entry
    const blockedUntil = await store.outbox.blockedUntil(identity)
    if (blockedUntil !== null) return { until: blockedUntil }
    try {
      const { githubId, name } = await github.repositoryNamed(repo, givenId)
      await learnRename(store, githubId, name, repo, 'publisher')
      return { githubId }
    } catch (error) {
      if (isGitHubError(error, 'rate_limited') && error.until !== null) {
        await store.outbox.blockIdentity(
          identity,
          toStoresTime(error.until),
          'rate_limited',
          'publisher',
        )
      }
      const block = await admission.blockAfter(error, place, identity)
      if (block !== null && block !== 'not_now') return { until: block.until }
      throw error
    }
  }

  /** A comment, a status and a check run are often due together, so they share one question. */
  function learnOnce(repo: string, givenId: number | null): Promise<Learnt> {
    const pending = asked.get(repo)
    if (pending !== undefined) return pending
    const learning = learnNow(repo, givenId).finally(() => asked.delete(repo))
    asked.set(repo, learning)
    return learning
  }

  return {
    async learn({ repo, unverifiedName, delivery }, channel) {
      try {
        // Another delivery of the repository may have learnt it since this one was leased.
        const placed = await store.outbox.deliveryWithPlace(delivery.id)
        const givenId = placed?.repoGithubId ?? null
        if (givenId !== null && placed?.unverifiedName === null) return { what: 'place_learnt' }
        const name = placed?.unverifiedName ?? unverifiedName ?? repo ?? ''
        const learnt = await learnOnce(name, givenId)
        if ('until' in learnt) return { what: 'look_limited', until: learnt.until }
        if (givenId === null || givenId === learnt.githubId) return { what: 'place_learnt' }
        return wrongRepository(name, givenId, learnt.githubId)
      } catch (error) {
        const { rules } = store.outbox
        const now = store.now()
        return failureOfLook(error, { delivery, channel, now, toStoreTime: toStoresTime, rules })
      }
    },
  }
}

/** The name belongs to another repository than the one the run is about. */
function wrongRepository(name: string, givenId: number, githubId: number): Finding {
  const text =
    `it was claimed for ${name} with repo_id ${givenId}, but GitHub's id of that is ${githubId}; ` +
    'claim again with the right repo_id, or without one'
  const trouble = { code: 'wrong_repository', text }
  return { what: 'look_failed', trouble, after: null, permanent: true }
}
