/** What every channel to GitHub is made of, and the few things they all do. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Prepared, SendBy, Target } from '../channel.ts'
import { InvalidInputError } from '../errors.ts'
import type { GitHubCalls } from '../github.ts'
import { isGitHubError } from '../github/errors.ts'
import { hideSecrets } from '../hide-secrets.ts'
import { withoutInvisible } from '../invisible-text.ts'
import type { Authors } from './authors.ts'
import type { ImageHosts } from './inert-prose.ts'
import type { MarkerKeys } from './marker.ts'

export interface ChannelParts {
  readonly github: GitHubCalls
  readonly markerKeys: () => Promise<MarkerKeys>
  readonly authors: () => Promise<Authors>
  /** Whose images are shown; nobody's when not given. */
  readonly imageHosts?: ImageHosts | undefined
}

/** In a repository that is known by GitHub's id. */
export interface RepositoryTarget extends Target {
  readonly repo: string
  readonly repoGithubId: number
}

/** GitHub takes 65,536 of something; what it counts is not said, so we stay below by any count. */
export const bodyMax = 65_000

/** GitHub's clock, ours and the store's may differ; none of them by more than this. */
const sinceMarginMs = 10 * 60_000

/** What GitHub answers to whoever made or changed something. */
export const writtenForm = z
  .object({ id: z.number(), html_url: z.string().nullish() })
  .transform(({ id, html_url }) => ({ providerId: String(id), url: html_url ?? null }))

export function threadOf({ thread }: Target): number {
  if (thread !== null) return thread
  throw new InvalidInputError('invalid_content', 'thread', 'there is no thread to publish it in')
}

export function shaOf({ sha }: Target): string {
  if (sha !== null) return sha
  throw new InvalidInputError('invalid_content', 'sha', 'there is no commit to publish it on')
}

/** Content as the store kept it; what has not its form can never be sent. */
export function contentOf<T>(form: z.ZodType<T>, content: unknown): T {
  const read = form.safeParse(content)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const field = issue?.path.map(String).join('.') ?? ''
  throw new InvalidInputError(
    'invalid_content',
    field === '' ? 'content' : field,
    `it does not have the form of this channel: ${issue?.message ?? 'unknown'}`,
  )
}

export function prepared(
  body: Prepared['body'],
  /** What of it shows; a marker does not. */
  shown: unknown = body,
): Prepared {
  return { hash: createHash('sha256').update(JSON.stringify(shown)).digest('hex'), body }
}

/** As GitHub's clock shows it; null to look at everything. */
export function sinceOf(github: GitHubCalls, since: number | null): number | null {
  const theirs = since === null ? null : github.githubTimeOf(since)
  return theirs === null ? null : theirs - sinceMarginMs
}

/** To the second, as GitHub writes its own times. */
export function isoOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/**
 * For what GitHub shows as it is: one line, no secret, and at most so many characters, counted in
 * UTF-16 units because no other way of counting makes more of them.
 */
export function plainLine(text: string, max: number): string {
  const line = hideSecrets(withoutInvisible(text.toWellFormed()))
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (line.length <= max) return line
  // A pair that was cut through leaves half a character.
  const cut = line.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')
  return `${cut.trimEnd()}…`
}

/** Null for what is not there (any more). */
export async function unlessGone<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (isGitHubError(error, 'not_found', 'gone')) return null
    throw error
  }
}

const anyObject = z.looseObject({})

export function threadIsThere(
  github: GitHubCalls,
  target: RepositoryTarget,
  sendBy: SendBy,
): Promise<boolean> {
  const route = 'GET /repos/{owner}/{repo}/issues/{issue_number}'
  return isThere(github.call(target, anyObject, route, { issue_number: threadOf(target) }, sendBy))
}

/** By its combined status, which is small and asks for no right that we do not need anyway. */
export function commitIsThere(
  github: GitHubCalls,
  target: RepositoryTarget,
  sendBy: SendBy,
): Promise<boolean> {
  const route = 'GET /repos/{owner}/{repo}/commits/{ref}/status'
  const parameters = { ref: shaOf(target), per_page: 1 }
  return isThere(github.call(target, anyObject, route, parameters, sendBy))
}

async function isThere(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked
    return true
  } catch (error) {
    // `invalid`: a 422 is GitHub's word for a sha that no commit has.
    if (isGitHubError(error, 'not_found', 'gone', 'not_installed', 'invalid')) return false
    throw error
  }
}
