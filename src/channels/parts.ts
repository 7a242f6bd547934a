/** What every channel to GitHub needs, and what all of them do alike. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Prepared, SendBy, Target } from '../channel.ts'
import { InvalidInputError } from '../errors.ts'
import type { GitHubCalls, RepositoryRef } from '../github.ts'
import { isGitHubError } from '../github/errors.ts'
import { hideSecrets } from '../texts/hide-secrets.ts'
import { withoutInvisible } from '../texts/invisible-text.ts'
import type { MarkerKeys } from './marker.ts'
import type { ImageHosts } from './text/inert-prose.ts'

export interface ChannelParts {
  readonly github: GitHubCalls
  readonly markerKeys: () => Promise<MarkerKeys>
  readonly authors: () => Promise<Authors>
  /** Hosts whose images are shown. Default: none. */
  readonly imageHosts?: ImageHosts | undefined
}

/** A target in a repository whose GitHub id is known. */
export interface RepositoryTarget extends Target {
  readonly repo: string
  readonly repoGithubId: number
}

/** GitHub accepts 65,536, and does not say of what. This is below that however it is counted. */
export const bodyMax = 65_000

/** GitHub's clock, ours and the store's may differ, but by no more than this. */
const sinceMarginMs = 10 * 60_000

/** GitHub's answer after something was created or changed. */
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

/** Reads stored content. Content of another form can never be sent, so it throws. */
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
  /** The part that people see; a marker is not visible. */
  shown: unknown = body,
): Prepared {
  return { hash: createHash('sha256').update(JSON.stringify(shown)).digest('hex'), body }
}

/** The time on GitHub's clock. Null: look at everything. */
export function sinceOf(github: GitHubCalls, since: number | null): number | null {
  const theirs = since === null ? null : github.githubTimeOf(since)
  return theirs === null ? null : theirs - sinceMarginMs
}

/** To the second, as GitHub writes times. */
export function isoOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/**
 * For text that GitHub shows as it is: one line, no secret, at most `max` UTF-16 units. No other
 * way of counting gives a higher number.
 */
export function plainLine(text: string, max: number): string {
  const line = hideSecrets(withoutInvisible(text.toWellFormed()))
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (line.length <= max) return line
  // The cut may have left the first half of a surrogate pair.
  const cut = line.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')
  return `${cut.trimEnd()}…`
}

/** Returns null if GitHub says that it does not exist. */
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

/** Asks for the combined status: it is small, and needs only permissions that we need anyway. */
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
    // `invalid`: GitHub answers 422 if no commit has this sha.
    if (isGitHubError(error, 'not_found', 'gone', 'not_installed', 'invalid')) return false
    throw error
  }
}

/**
 * Every account that this store ever published as. By id, because somebody else may get a login.
 */
export interface Authors {
  readonly userIds: ReadonlySet<number>
  readonly appIds: ReadonlySet<number>
}

/** The author in GitHub's answers. A deleted account is null. */
export const authorForm = z.object({
  user: z.object({ id: z.number() }).nullish(),
  performed_via_github_app: z.object({ id: z.number() }).nullish(),
})

export function isByUs(written: z.infer<typeof authorForm>, authors: Authors): boolean {
  const { user, performed_via_github_app: app } = written
  return (
    (user != null && authors.userIds.has(user.id)) || (app != null && authors.appIds.has(app.id))
  )
}

const perPage = 100

/** Reads a list of GitHub's page by page. A page is requested only when the caller wants it. */
export async function* eachPage<T>(
  github: GitHubCalls,
  repository: RepositoryRef,
  form: z.ZodType<T>,
  route: string,
  parameters: Readonly<Record<string, unknown>>,
  sendBy: SendBy,
): AsyncGenerator<T> {
  for (let page = 1; ; page += 1) {
    const asked = { ...parameters, per_page: perPage, page }
    const { data, headers } = await github.call(repository, form, route, asked, sendBy)
    yield data
    // A short page may have a next one: GitHub leaves out entries that we may not see.
    if (!/\brel="next"/.test(String(headers['link'] ?? ''))) return
  }
}
