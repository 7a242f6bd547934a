/**
 * Where we publish: GitHub's id of a repository that is known by its name alone. It is read once,
 * before anything is written or looked for there, and kept in the store; from then on the
 * repository is addressed by its id, whoever has its name.
 *
 * What is to be done about a delivery is decided anew after that, because two rows of ours may have
 * turned out to be one repository.
 */
import type { Clock } from '../clock.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import type { GitHubCalls } from '../github.ts'
import { isGitHubError } from '../github/errors.ts'
import { learnRename } from '../learn-rename.ts'
import type { PlacedDelivery } from '../outbox-store.ts'
import type { Store } from '../store.ts'
import type { Admission } from './admission.ts'
import { failureOfLook } from './outcome-of.ts'

export interface Places {
  learn(leased: Pick<PlacedDelivery, 'repo' | 'delivery'>): Promise<Finding>
}

interface PlacesParts {
  readonly github: Pick<GitHubCalls, 'repositoryNamed'>
  readonly admission: Admission
  readonly store: Store
  readonly clock: Clock
}

export function createPlaces(parts: PlacesParts): Places {
  const { github, admission, store, clock } = parts
  const asked = new Map<string, Promise<number | null>>()
  const toStoreTime = (ourMs: number): number => ourMs - clock.wallMs() + store.now()

  /** Resolves to a time when GitHub may not be asked before then, else to null. */
  async function learnNow(repo: string): Promise<number | null> {
    const place = { repo, repoGithubId: null }
    const entry = await admission.enter(place)
    if ('until' in entry) return entry.until
    const { identity } = entry
    const blockedUntil = await store.outbox.blockedUntil(identity)
    if (blockedUntil !== null) return blockedUntil
    try {
      const { githubId, name } = await github.repositoryNamed(repo)
      await learnRename(store, githubId, name, repo, 'publisher')
      return null
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
      if (shut !== null && shut !== 'not_now') return shut.until
      throw error
    }
  }

  /** A comment, a status and a check of one repository are due together: GitHub is asked once. */
  function learnOnce(repo: string): Promise<number | null> {
    const pending = asked.get(repo)
    if (pending !== undefined) return pending
    const learning = learnNow(repo).finally(() => asked.delete(repo))
    asked.set(repo, learning)
    return learning
  }

  return {
    async learn({ repo, delivery }) {
      try {
        // Another of the repository's may have learnt it since this one was taken.
        const placed = await store.outbox.placed(delivery.id)
        if (placed !== null && placed.repoGithubId !== null) return { what: 'place_learnt' }
        const until = await learnOnce(repo)
        return until === null ? { what: 'place_learnt' } : { what: 'look_limited', until }
      } catch (error) {
        const { rules } = store.outbox
        return failureOfLook(error, { delivery, now: store.now(), toStoreTime, rules })
      }
    },
  }
}
