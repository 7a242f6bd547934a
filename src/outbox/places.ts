/**
 * Where we publish: GitHub's id of a repository that is known by its name alone, or whose id only a
 * caller has told. It is read once, before anything is written or looked for there, and kept in the
 * store; from then on the repository is addressed by its id, whoever has its name. Where GitHub has
 * another id under the name than the caller told, nothing is written.
 *
 * What is to be done about a delivery is decided anew after that, because two rows of ours may have
 * turned out to be one repository.
 */
import type { Clock } from '../clock.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import type { GitHubCalls } from '../github.ts'
import { isGitHubError } from '../github/errors.ts'
import { learnRename } from '../learn-rename.ts'
import type { PlacedDelivery } from '../store/outbox-store.ts'
import type { Store } from '../store.ts'
import type { Admission } from './admission.ts'
import { failureOfLook } from './outcome-of.ts'

export interface Places {
  learn(leased: Pick<PlacedDelivery, 'repo' | 'unverifiedName' | 'delivery'>): Promise<Finding>
}

interface PlacesParts {
  readonly github: Pick<GitHubCalls, 'repositoryNamed'>
  readonly admission: Admission
  readonly store: Store
  readonly clock: Clock
}

/** What GitHub says the name means; or until when it may not be asked. */
type Learnt = { readonly githubId: number } | { readonly until: number }

export function createPlaces(parts: PlacesParts): Places {
  const { github, admission, store, clock } = parts
  const asked = new Map<string, Promise<Learnt>>()
  const toStoreTime = (ourMs: number): number => ourMs - clock.wallMs() + store.now()

  async function learnNow(repo: string, told: number | null): Promise<Learnt> {
    const place = { repo, repoGithubId: null }
    const entry = await admission.enter(place)
    if ('until' in entry) return { until: entry.until }
    const { identity } = entry
    const blockedUntil = await store.outbox.blockedUntil(identity)
    if (blockedUntil !== null) return { until: blockedUntil }
    try {
      const { githubId, name } = await github.repositoryNamed(repo, told)
      await learnRename(store, githubId, name, repo, 'publisher')
      return { githubId }
    } catch (error) {
      if (isGitHubError(error, 'rate_limited') && error.until !== null) {
        await store.outbox.blockIdentity(
          identity,
          toStoreTime(error.until),
          'rate_limited',
          'publisher',
        )
      }
      const shut = await admission.shutOut(error, place, identity)
      if (shut !== null && shut !== 'not_now') return { until: shut.until }
      throw error
    }
  }

  /** A comment, a status and a check of one repository are due together: GitHub is asked once. */
  function learnOnce(repo: string, told: number | null): Promise<Learnt> {
    const pending = asked.get(repo)
    if (pending !== undefined) return pending
    const learning = learnNow(repo, told).finally(() => asked.delete(repo))
    asked.set(repo, learning)
    return learning
  }

  return {
    async learn({ repo, unverifiedName, delivery }) {
      try {
        // Another of the repository's may have learnt it since this one was taken.
        const placed = await store.outbox.placed(delivery.id)
        const told = placed?.repoGithubId ?? null
        if (told !== null && placed?.unverifiedName === null) return { what: 'place_learnt' }
        const name = placed?.unverifiedName ?? unverifiedName ?? repo
        const learnt = await learnOnce(name, told)
        if ('until' in learnt) return { what: 'look_limited', until: learnt.until }
        if (told === null || told === learnt.githubId) return { what: 'place_learnt' }
        return wrongRepository(name, told, learnt.githubId)
      } catch (error) {
        const { rules } = store.outbox
        return failureOfLook(error, { delivery, now: store.now(), toStoreTime, rules })
      }
    },
  }
}

/** Where it would go is another repository than the run is about. */
function wrongRepository(name: string, told: number, githubId: number): Finding {
  const text =
    `it was claimed for ${name} with repo_id ${told}, but GitHub's id of that is ${githubId}; ` +
    'claim again with the right repo_id, or without one'
  const trouble = { code: 'wrong_repository', text }
  return { what: 'look_failed', trouble, after: null, permanent: true }
}
