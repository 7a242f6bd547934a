/**
 * Whether GitHub lets us in, and as whom. Where it does not (the credentials are refused, the App
 * is not installed), nothing was sent and nothing has failed: whoever is refused is blocked in the
 * store, for a minute at first, and what is to be published waits.
 */
import type { GitHubCalls, RepositoryRef } from '../github.ts'
import { isGitHubError } from '../github/errors.ts'
import type { OutboxStore } from '../outbox-store.ts'
import type { OwnAuthors } from './own-authors.ts'

/** `until`: nothing is asked under these credentials before then. */
export type Entry = { readonly identity: string } | { readonly until: number }

export interface Admission {
  /** Rejects when it cannot be found out now. */
  enter(repository: RepositoryRef): Promise<Entry>
  /** What an error of a later call says about it: until when to wait, or null when nothing. */
  shutOut(error: unknown, repository: RepositoryRef): Promise<number | null>
}

export interface AdmissionParts {
  readonly github: Pick<GitHubCalls, 'identityOf' | 'ownIdentity'>
  readonly authors: Pick<OwnAuthors, 'learn' | 'forget'>
  readonly store: { readonly outbox: Pick<OutboxStore, 'refuseIdentity' | 'blockedUntil'> }
}

export function createAdmission({ github, authors, store }: AdmissionParts): Admission {
  const own = github.ownIdentity
  /** Whom this process saw refused; the store says for how long, and an operator may lift it. */
  const refused = new Set<string>()
  // An App is installed by an account, for its repositories.
  const ofAccount = ({ repo }: RepositoryRef): string => `${own}:${repo.split('/')[0] ?? ''}`

  async function refuse(identity: string, reason: string): Promise<number> {
    refused.add(identity)
    return await store.outbox.refuseIdentity(identity, reason)
  }

  async function stillRefused(identity: string): Promise<number | null> {
    if (!refused.has(identity)) return null
    const until = await store.outbox.blockedUntil(identity)
    if (until === null) refused.delete(identity)
    return until
  }

  return {
    async enter(repository) {
      const until = (await stillRefused(own)) ?? (await stillRefused(ofAccount(repository)))
      if (until !== null) return { until }
      try {
        await authors.learn()
        return { identity: await github.identityOf(repository) }
      } catch (error) {
        if (isGitHubError(error, 'unauthorized')) {
          return { until: await refuse(own, 'unauthorized') }
        }
        if (isGitHubError(error, 'not_installed')) {
          return { until: await refuse(ofAccount(repository), 'not_installed') }
        }
        throw error
      }
    },
    async shutOut(error, repository) {
      if (isGitHubError(error, 'not_installed')) {
        return await refuse(ofAccount(repository), 'not_installed')
      }
      if (!isGitHubError(error, 'unauthorized')) return null
      // One call was refused: whether all are, is asked where no repository matters.
      authors.forget()
      try {
        await authors.learn()
        return null
      } catch (again) {
        return isGitHubError(again, 'unauthorized') ? await refuse(own, 'unauthorized') : null
      }
    },
  }
}
