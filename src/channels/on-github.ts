/**
 * What all channels to GitHub have in common: what its errors mean, and that a target is in a
 * repository.
 *
 * What must hold: errors are told apart by their kind alone, never by GitHub's words.
 */
import type { Admission, Channel, Target } from '../channel.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { SendFailure } from '../domain/outbox/outcome.ts'
import { InvalidInputError } from '../errors.ts'
import { GitHubError, type GitHubErrorKind } from '../github/errors.ts'
import type { RepositoryTarget } from './parts.ts'

/** The same for each of them; the identity is the installation's or the account's. */
export const onGitHub = {
  identityOf: null,
  failureOf: githubFailure,
} as const satisfies Partial<ChannelDeclaration>

const kinds: Readonly<Record<GitHubErrorKind, SendFailure['kind']>> = {
  too_late: 'too_late',
  network: 'not_done',
  redirected: 'not_done',
  unanswered: 'unanswered',
  rate_limited: 'limited',
  not_found: 'missing',
  gone: 'missing',
  unauthorized: 'refused',
  forbidden: 'refused',
  not_installed: 'refused',
  conflict: 'refused',
  invalid: 'refused',
}

function githubFailure(error: unknown): SendFailure | null {
  if (!(error instanceof GitHubError)) return null
  const { kind, until, unclear, message, status, requestId, githubRequestId } = error
  return {
    kind: kinds[kind],
    trouble: { code: kind, text: message },
    until,
    unclear,
    // A commit that was just pushed is not seen everywhere at once.
    mayBeUnseen: kind === 'not_found' || kind === 'invalid',
    mayPass: kind === 'conflict' || kind === 'unauthorized',
    httpStatus: status,
    requestId,
    providerRequestId: githubRequestId,
  }
}

/** GitHub can be asked about everything that is there. */
export type GitHubChannel = Channel<RepositoryTarget> &
  Required<Pick<Channel<RepositoryTarget>, 'look' | 'placeIsThere' | 'ownershipOf'>>

/** A channel that needs a repository, for whoever has any target. */
export function inRepositories(channel: GitHubChannel, admission: Admission | undefined): Channel {
  return {
    declaration: channel.declaration,
    ...(admission !== undefined && { admission }),
    prepare: async (target, content) => await channel.prepare(repositoryOf(target), content),
    write: async (target, prepared, sendBy) =>
      await channel.write(repositoryOf(target), prepared, sendBy),
    look: async ({ target, ...request }, sendBy) =>
      await channel.look({ ...request, target: repositoryOf(target) }, sendBy),
    placeIsThere: async (target, sendBy) =>
      await channel.placeIsThere(repositoryOf(target), sendBy),
    ownershipOf: async ({ target, ...claim }, sendBy) =>
      await channel.ownershipOf({ ...claim, target: repositoryOf(target) }, sendBy),
    ...(channel.declaration.keptCopy !== null && {
      remove: async (target, providerId, sendBy) =>
        await channel.remove?.(repositoryOf(target), providerId, sendBy),
    }),
  } satisfies Channel
}

function repositoryOf(target: Target): RepositoryTarget {
  const { repo, repoGithubId } = target
  if (repo !== null && repoGithubId !== null) return { ...target, repo, repoGithubId }
  throw new InvalidInputError('invalid_content', 'repo', 'there is no repository to publish it in')
}
