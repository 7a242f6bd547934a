/**
 * The work that a command line asks for, as the claim of a run. Flags count first, then the GitHub
 * event. A missing or wrong part is an error that names its flag.
 *
 * What must hold: an event's time, action and `before` describe the commits of that event. If a
 * flag names other commits, they are left out.
 */
import { claimBody, type ClaimBody, type RunView } from '../../contract/runs.ts'
import { formFor } from '../../contract/forms.ts'
import type { Environment } from '../../settings/environment.ts'
import { clauses } from '../../texts/sentences.ts'
import { findingsOf } from '../../validation/findings.ts'
import { textOf, type Parsed } from '../connection/connection.ts'
import { UsageError } from '../failure.ts'
import { readGitHubEvent, type GitHubEvent } from './github-event.ts'

export interface WantedWork {
  /** As it is sent to a server. */
  readonly sent: Readonly<Record<string, unknown>>
  /** The same as the store takes it. */
  readonly claim: ClaimBody
}

/** Whether this run has the turn that such work waits for. One run of a subject works at a time. */
export function hasTurnOf(run: RunView, claim: ClaimBody): boolean {
  if (run.type !== claim.type || !same(claim.repo, run.repo)) return false
  if ('key' in claim) return run.pr === null && run.subject === (claim.subject ?? claim.key)
  return run.pr === claim.pr
}

type Fields = Readonly<Record<string, unknown>>

const pullRequestFlags = ['pr', 'base', 'head'] as const
const jobFlags = ['subject', 'sha'] as const

export function wantedWork(
  parsed: Parsed,
  world: { readonly cwd: string; readonly env: Environment },
): WantedWork {
  const file = textOf(parsed, 'fromGithubEvent')
  const event = file === undefined ? null : readGitHubEvent(file, world.cwd, world.env)
  refuseMixed(parsed)
  const named = isJob(parsed, event)
    ? jobFields(parsed, event)
    : pullRequestFields(parsed, event, file)
  const sent = without({
    ...named,
    type: textOf(parsed, 'type'),
    input: inputOf(parsed),
    rerun: parsed['rerun'] === true ? true : undefined,
    // Nobody would be there at its turn.
    queue: parsed['wait'] === false ? false : undefined,
    event: event?.name ?? undefined,
    sender: event?.sender ?? undefined,
    repo_id: repoIdOf(named, event),
  })
  return { sent, claim: checked(sent) }
}

function refuseMixed(parsed: Parsed): void {
  if (textOf(parsed, 'key') === undefined) {
    const lone = jobFlags.find((name) => textOf(parsed, name) !== undefined)
    if (lone === undefined) return
    throw new UsageError(`--${lone} is for a job; give --key as well`)
  }
  const other = pullRequestFlags.find((name) => textOf(parsed, name) !== undefined)
  if (other === undefined) return
  throw new UsageError(
    `--key is for a job, and --${other} for a pull request; give only one of them`,
  )
}

/** An event about a single commit is a job, unless the flags name a pull request. */
function isJob(parsed: Parsed, event: GitHubEvent | null): boolean {
  if (textOf(parsed, 'key') !== undefined) return true
  const namesPull = pullRequestFlags.some((name) => textOf(parsed, name) !== undefined)
  return event?.commit != null && !namesPull
}

function jobFields(parsed: Parsed, event: GitHubEvent | null): Fields {
  const repo = textOf(parsed, 'repo') ?? event?.repo ?? undefined
  const sha = textOf(parsed, 'sha')
  const key = textOf(parsed, 'key')
  const subject = textOf(parsed, 'subject')
  if (textOf(parsed, 'type') === undefined) {
    throw new UsageError('--type is missing', 'It names the kind of work, for example: --type docs')
  }
  if (sha !== undefined && repo === undefined) {
    throw new UsageError(
      '--sha needs --repo: without a repository, the result cannot be shown on the commit',
      'Add --repo OWNER/NAME, or leave --sha out.',
    )
  }
  if (key !== undefined) return { key, subject, repo, sha: sha ?? commitOf(event) }
  const { ref = '', sha: pushed = '' } = event?.commit ?? {}
  return { key: `${String(repo)}:${ref}:sha-${pushed}`, subject: ref, repo, sha: pushed }
}

function commitOf(event: GitHubEvent | null): string | undefined {
  return event?.commit?.sha ?? event?.pullRequest?.headSha ?? undefined
}

function pullRequestFields(
  parsed: Parsed,
  event: GitHubEvent | null,
  file: string | undefined,
): Fields {
  const of = event?.pullRequest ?? null
  const given = {
    repo: textOf(parsed, 'repo') ?? event?.repo ?? undefined,
    pr: numberOf(textOf(parsed, 'pr')) ?? of?.pr,
    base_sha: textOf(parsed, 'base') ?? of?.baseSha ?? undefined,
    head_sha: textOf(parsed, 'head') ?? of?.headSha ?? undefined,
  }
  refuseMissing(given, event, file)
  const isOfEvent =
    of !== null &&
    same(given.repo, event?.repo) &&
    given.pr === of.pr &&
    same(given.base_sha, of.baseSha) &&
    same(given.head_sha, of.headSha)
  if (!isOfEvent) return given
  const { beforeSha, action, at } = of
  return {
    ...given,
    before_sha: beforeSha ?? undefined,
    action: action ?? undefined,
    event_at: at ?? undefined,
  }
}

const same = (given: string | undefined, named: string | null | undefined): boolean =>
  given?.toLowerCase() === named?.toLowerCase()

const flagOfField: Readonly<Record<string, string>> = {
  repo: '--repo',
  pr: '--pr',
  base_sha: '--base',
  head_sha: '--head',
}

function refuseMissing(given: Fields, event: GitHubEvent | null, file: string | undefined): void {
  const missing = Object.keys(flagOfField).filter((field) => given[field] === undefined)
  if (missing.length === 0) return
  const flags = missing.map((field) => flagOfField[field]).join(', ')
  if (event === null || file === undefined) {
    throw new UsageError(
      `${flags} ${missing.length === 1 ? 'is' : 'are'} missing`,
      'Name a pull request (--repo, --pr, --base, --head), a GitHub event ' +
        '(--from-github-event FILE), or a job (--key KEY --type TYPE).',
    )
  }
  const what = event.name === null ? 'This event' : `An event ${JSON.stringify(event.name)}`
  if (event.pullRequest === null) {
    throw new UsageError(
      `${what} names no pull request and no commit`,
      'Say what makes two runs the same work, for example: --key "nightly:$(date +%F)". ' +
        'Or name a pull request: --pr, --base, --head.',
    )
  }
  throw new UsageError(`${what} names a pull request without its commits`, `Give ${flags} as well.`)
}

/** The id belongs to the event's repository, not to one that a flag names. */
function repoIdOf(named: Fields, event: GitHubEvent | null): number | undefined {
  const { repo } = named
  return typeof repo === 'string' && same(repo, event?.repo)
    ? (event?.repoId ?? undefined)
    : undefined
}

/** Digits only: Number() would also take "1e3" and " ". Any other text is left to the check. */
function numberOf(text: string | undefined): number | string | undefined {
  return text !== undefined && /^[0-9]+$/.test(text) ? Number(text) : text
}

function inputOf(parsed: Parsed): unknown {
  const text = textOf(parsed, 'input')
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError('--input must be JSON', `For example: --input '{"depth": 2}'`)
  }
}

function without(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function checked(sent: Fields): ClaimBody {
  const form = formFor(claimBody, sent)
  const parsed = form.safeParse(sent)
  if (parsed.success) return parsed.data as ClaimBody
  const problems = findingsOf(form, parsed.error.issues, sent).map(({ path, message }) => {
    const field = String(path[0])
    return `${flagOfField[field] ?? `--${field.replaceAll('_', '-')}`} ${message}`
  })
  throw new UsageError(clauses([...new Set(problems)]))
}
