/**
 * Whether GitHub lets us in, and as whom, for all channels to it. Where it does not (the
 * credentials are refused, the App is not installed, we asked too much), nothing was sent and
 * nothing has failed: whoever is refused is blocked in the store, where it can be seen and lifted,
 * and what is to be published waits.
 */
import type { ActingPlace, Admission, Entry, ShutOut } from '../channel.ts'
import type { Clock } from '../clock.ts'
import type { GitHubCalls, RepositoryRef } from '../github.ts'
import { isGitHubError } from '../github/errors.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import type { Store } from '../store.ts'
import type { OwnAuthors } from './own-authors.ts'

export interface AdmissionParts {
  readonly github: Pick<GitHubCalls, 'identityOf' | 'ownIdentity'>
  readonly authors: Pick<OwnAuthors, 'learn' | 'forget'>
  readonly store: Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'refuseIdentity' | 'blockIdentity' | 'blockedUntil'>
  }
  readonly clock: Clock
}

/** Where GitHub names no time. */
const limitMs = 60_000

export function createAdmission(parts: AdmissionParts): Admission {
  return new StoredAdmission(parts)
}

class StoredAdmission implements Admission {
  readonly #parts: AdmissionParts
  readonly #own: string
  /**
   * Whom this process saw refused; the store says for how long, and an operator may lift it. What
   * stopped another process, or the one before us, is found out before the first question.
   */
  readonly #refused: Set<string>
  readonly #identities = new Map<string, string>()

  constructor(parts: AdmissionParts) {
    this.#parts = parts
    this.#own = parts.github.ownIdentity
    this.#refused = new Set([this.#own])
  }

  accountOf({ repo }: ActingPlace): string {
    return `${this.#own}:${(repo?.split('/')[0] ?? '').toLowerCase()}`
  }

  lastIdentityOf(account: string): string | null {
    return this.#identities.get(account) ?? null
  }

  async enter(place: ActingPlace): Promise<Entry> {
    const repository = repositoryOf(place)
    const { authors, github } = this.#parts
    const refusedUntil =
      (await this.#stillRefused(this.#own)) ?? (await this.#stillRefused(this.#at(repository)))
    if (refusedUntil !== null) return { until: refusedUntil }
    try {
      await authors.learn()
      const identity = await github.identityOf(repository)
      this.#identities.set(this.accountOf(place), identity)
      return { identity }
    } catch (error) {
      const until = await this.#turnedAway(error, repository)
      if (until === null) throw error
      return { until }
    }
  }

  async shutOut(error: unknown, place: ActingPlace, identity: string): Promise<ShutOut> {
    const repository = repositoryOf(place)
    const { authors } = this.#parts
    if (isGitHubError(error, 'not_installed')) {
      return { until: await this.#refuse(this.#at(repository), 'not_installed') }
    }
    if (!isGitHubError(error, 'unauthorized')) return null
    // One call was refused: whether all are, is asked where no repository matters.
    authors.forget()
    try {
      await authors.learn()
    } catch (again) {
      const until = await this.#turnedAway(again, repository)
      return until === null ? 'not_now' : { until }
    }
    // GitHub knows the App, but takes no token that it made for this installation.
    return identity === this.#own ? null : { until: await this.#refuse(identity, 'unauthorized') }
  }

  /** What is said of one repository holds for no other: it may be gone, or was never chosen. */
  #at({ repo }: RepositoryRef): string {
    return `${this.#own}:${repo}`
  }

  /** Null when the error is of another kind. */
  async #turnedAway(error: unknown, repository: RepositoryRef): Promise<number | null> {
    if (isGitHubError(error, 'unauthorized')) return await this.#refuse(this.#own, 'unauthorized')
    if (isGitHubError(error, 'rate_limited')) return await this.#limit(error.until)
    if (!isGitHubError(error, 'not_installed')) return null
    return await this.#refuse(this.#at(repository), 'not_installed')
  }

  async #refuse(identity: string, reason: string): Promise<number> {
    this.#refused.add(identity)
    return await this.#parts.store.outbox.refuseIdentity(identity, reason)
  }

  async #limit(givenUntil: number | null): Promise<number> {
    const { store, clock } = this.#parts
    this.#refused.add(this.#own)
    const waitMs = givenUntil === null ? limitMs : givenUntil - clock.wallMs()
    const until = store.now() + waitMs
    const known = await store.outbox.blockedUntil(this.#own)
    // All who were waiting for the same answer hear it: it is told once.
    if (known !== null && known >= until) return known
    await store.outbox.blockIdentity(this.#own, until, 'rate_limited', 'publisher')
    return until
  }

  async #stillRefused(identity: string): Promise<number | null> {
    if (!this.#refused.has(identity)) return null
    const until = await this.#parts.store.outbox.blockedUntil(identity)
    if (until === null) this.#refused.delete(identity)
    return until
  }
}

/** GitHub's channels are asked about no other places. */
function repositoryOf({ repo, repoGithubId }: ActingPlace): RepositoryRef {
  return { repo: repo ?? '', repoGithubId }
}
