/**
 * What all channels to GitHub have in common: what a channel says about itself, what GitHub's
 * errors mean, and that a target is in a repository.
 *
 * What must hold: only the kind of an error decides what it means, never GitHub's text.
 */
import type { z } from 'zod'
import type { Admission, Channel, Target } from '../channel.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { SendFailure } from '../domain/outbox/outcome.ts'
import { InvalidInputError } from '../errors.ts'
import { GitHubError, type GitHubErrorKind } from '../github/errors.ts'
import type { RepositoryTarget } from './parts.ts'

/** The same for every channel. The identity is an installation or an account. */
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
    // GitHub does not see a commit everywhere right after the push.
    mayBeUnseen: kind === 'not_found' || kind === 'invalid',
    mayPass: kind === 'conflict' || kind === 'unauthorized',
    httpStatus: status,
    requestId,
    providerRequestId: githubRequestId,
  }
}

/** What a run may publish on a channel itself. */
export interface PublishForm<F extends z.ZodObject = z.ZodObject, Stored = object> {
  /** The fields of the content in an HTTP request. */
  readonly form: F
  /** The same content as the store keeps it. */
  readonly toStored: (given: z.infer<F>) => Stored
  /** The name and examples of the request in the API description. */
  readonly docs: { readonly id: string; readonly title: string; readonly examples?: object[] }
}

/** Only for the types. */
export const publishForm = <F extends z.ZodObject, Stored extends object>(
  form: PublishForm<F, Stored>,
): PublishForm<F, Stored> => form

/** How sentences name what a channel publishes. */
export interface ChannelWords {
  /** Such as `commit status`. */
  readonly noun: string
  /** Its title is in quotation marks. */
  readonly isQuoted?: true
  /** What a sentence says after it was sent: what it shows, or what was done with it. */
  readonly sentAs: 'state' | 'set or removed' | 'created or updated'
}

/** On GitHub, everything that was published can be looked at. */
export type GitHubChannel = Channel<RepositoryTarget> &
  Required<Pick<Channel<RepositoryTarget>, 'look' | 'placeIsThere' | 'ownershipOf'>>

/** Lets a channel that needs a repository accept any target. It refuses one without repository. */
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
