/**
 * What a GitHub event says about the work: the repository, the pull request and its commits, or the
 * pushed commit. In GitHub Actions the file is `$GITHUB_EVENT_PATH`, and it is the payload of the
 * webhook. So it is read by the same rules, and an event means the same in both places.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { InvalidInputError } from '../../errors.ts'
import { parsePayload, shaAt, textAt, valueAt } from '../../intake/events/payload.ts'
import { readEvent, type WebhookEvent } from '../../intake/events/webhook-event.ts'
import type { Environment } from '../../settings/environment.ts'
import { UsageError } from '../failure.ts'

const flag = '--from-github-event'

export interface GitHubEvent {
  /** GitHub's name of it, such as `pull_request`. Null if nobody says it and it is not clear. */
  readonly name: string | null
  readonly repo: string | null
  readonly repoId: number | null
  readonly sender: string | null
  readonly pullRequest: PullRequestEvent | null
  /** A push, or a group of a merge queue: work on one commit. */
  readonly commit: CommitEvent | null
}

export interface PullRequestEvent {
  readonly pr: number
  /** Null if the event names no commits, as a comment does not. */
  readonly baseSha: string | null
  readonly headSha: string | null
  readonly beforeSha: string | null
  readonly action: string | null
  /** RFC 3339. */
  readonly at: string | null
}

export interface CommitEvent {
  readonly ref: string
  readonly sha: string
}

export function readGitHubEvent(path: string, cwd: string, env: Environment): GitHubEvent {
  if (path.trim() === '') throw new UsageError(`${flag} is empty; it needs a file`, eventHint)
  const payload = readPayload(resolve(cwd, path))
  const name = env['GITHUB_EVENT_NAME']?.trim() || guessedName(payload)
  const event = readEvent('', name ?? '', payload)
  if (event.repo === null) {
    const message = `${flag}: ${path} is not the payload of a GitHub event`
    throw new UsageError(`${message}, because it has no repository.full_name`, eventHint)
  }
  return {
    name,
    repo: event.repo,
    repoId: event.repoId,
    sender: event.sender?.login ?? null,
    pullRequest: pullRequestOf(event),
    commit: event.push ?? mergeGroupOf(payload),
  }
}

const eventHint = `In GitHub Actions use: ${flag} "$GITHUB_EVENT_PATH"`

function readPayload(path: string): unknown {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    throw new UsageError(`${flag}: ${path} ${unreadable(code)}`, eventHint)
  }
  try {
    return parsePayload(withoutMark(bytes))
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new UsageError(`${flag}: ${path} is not JSON, or is nested too deep`, eventHint)
  }
}

function unreadable(code: string | undefined): string {
  if (code === 'ENOENT') return 'does not exist'
  return code === 'EISDIR' ? 'is a folder, not a file' : `cannot be read (${String(code)})`
}

/** Some editors and shells begin a UTF-8 file with a byte order mark. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, 3).equals(byteOrderMark) ? bytes.subarray(3) : bytes
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** Outside of GitHub Actions nobody says which event it is. */
function guessedName(payload: unknown): string | null {
  if (valueAt(payload, 'pull_request') !== undefined) return 'pull_request'
  const isPush = valueAt(payload, 'before') !== undefined && shaAt(payload, 'after') !== null
  return isPush && textAt(payload, 'ref') !== null ? 'push' : null
}

function pullRequestOf(event: WebhookEvent): PullRequestEvent | null {
  const { number, isPullRequest, head, action, eventAt } = event
  if (number === null || !isPullRequest) return null
  return {
    pr: number,
    baseSha: head?.baseSha ?? null,
    headSha: head?.headSha ?? null,
    beforeSha: head?.beforeSha ?? null,
    action,
    at: eventAt === null ? null : new Date(eventAt).toISOString(),
  }
}

function mergeGroupOf(payload: unknown): CommitEvent | null {
  const sha = shaAt(payload, 'merge_group', 'head_sha')
  const ref = textAt(payload, 'merge_group', 'head_ref')
  return sha === null || ref === null ? null : { ref, sha }
}
