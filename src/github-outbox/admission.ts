/**
 * Whether GitHub accepts our requests, and under which identity, for all channels to GitHub. GitHub
 * may refuse: the credentials are wrong, the App is not installed, or we asked too much. Then
 * nothing was sent and no delivery has failed. The refused identity is blocked in the store, where
 * people can see and lift the block, and its deliveries wait.
 */
import type { ActingPlace, Admission, Entry, IdentityBlock } from '../channel.ts'
import type { Clock } from '../clock.ts'
import type { GitHubCalls, RepositoryRef } from '../github.ts'
import { isGitHubError } from '../github/errors.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import type { Store } from '../store.ts'
import type { OwnAccount } from './own-account.ts'

export interface AdmissionParts {
  readonly github: Pick<GitHubCalls, 'identityOf' | 'ownIdentity'>
  readonly account: Pick<OwnAccount, 'learn' | 'forget'>
  readonly store: Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'refuseIdentity' | 'blockIdentity' | 'blockedUntil'>
  }
  readonly clock: Clock
}

/** The wait when GitHub does not say how long. */
const limitMs = 60_000

export function createAdmission(parts: AdmissionParts): Admission {
  return new StoredAdmission(parts)
}

class StoredAdmission implements Admission {
  readonly #parts: AdmissionParts
  readonly #own: string
  /**
   * Identities that may be blocked; the store knows until when, and an operator may lift a block.
   * Our own identity is in it from the start: another process may have been refused before this
   * one.
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
    const { account, github } = this.#parts
    const blockedUntil =
      (await this.#blockedUntil(this.#own)) ?? (await this.#blockedUntil(this.#at(repository)))
    if (blockedUntil !== null) return { until: blockedUntil }
    try {
      await account.learn()
      const identity = await github.identityOf(repository)
      this.#identities.set(this.accountOf(place), identity)
      return { identity }
    } catch (error) {
      const until = await this.#blockIfRefused(error, repository)
      if (until === null) throw error
      return { until }
    }
  }

  async blockAfter(error: unknown, place: ActingPlace, identity: string): Promise<IdentityBlock> {
    const repository = repositoryOf(place)
    const { account } = this.#parts
    if (isGitHubError(error, 'not_installed')) {
      return { until: await this.#refuse(this.#at(repository), 'not_installed') }
    }
    if (!isGitHubError(error, 'unauthorized')) return null
    // One call was refused. A question about no repository shows whether all calls are refused.
    account.forget()
    try {
      await account.learn()
    } catch (again) {
      const until = await this.#blockIfRefused(again, repository)
      return until === null ? 'not_now' : { until }
    }
    // GitHub accepts the App, but refuses the token that it made for this installation.
    return identity === this.#own ? null : { until: await this.#refuse(identity, 'unauthorized') }
  }

  /** "Not installed" is about one repository only: it may be deleted, or was never selected. */
  #at({ repo }: RepositoryRef): string {
    return `${this.#own}:${repo}`
  }

  /** Returns until when it is blocked, or null if the error is no refusal. */
  async #blockIfRefused(error: unknown, repository: RepositoryRef): Promise<number | null> {
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
    // Several callers may have waited for the same answer. Only the first stores the block.
    if (known !== null && known >= until) return known
    await store.outbox.blockIdentity(this.#own, until, 'rate_limited', 'publisher')
    return until
  }

  async #blockedUntil(identity: string): Promise<number | null> {
    if (!this.#refused.has(identity)) return null
    const until = await this.#parts.store.outbox.blockedUntil(identity)
    if (until === null) this.#refused.delete(identity)
    return until
  }
}

/** The GitHub channels only have places with a repository. */
function repositoryOf({ repo, repoGithubId }: ActingPlace): RepositoryRef {
  return { repo: repo ?? '', repoGithubId }
}
