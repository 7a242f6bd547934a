/**
 * Makes the claim for a routed event. Most events contain the pull request's commits. For those
 * that do not (a comment, a check), GitHub is asked or our own runs are searched.
 */
import type { CatchUpStore } from '../store/catch-up-store.ts'
import { isBeforeComment, type NamedHead } from '../domain/comment-head.ts'
import type { EventHead } from '../domain/inbox.ts'
import type { AskingComment } from '../domain/outbox/refusal.ts'
import type { Run } from '../domain/run.ts'
import type { GitHub } from '../github.ts'
import type { PullRequestHead } from '../head-source.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import type { ClaimRequest } from '../runs/runs.ts'
import { isTooFarAhead } from '../runs/claim-request.ts'
import type { RunFilter, Store, StorePart } from '../store.ts'
import type { CheckFacts, EventFacts } from './events/webhook-event.ts'
import { isCommand, laneOf, makesHead, storedName } from './events/webhook-event.ts'

export interface ClaimSources {
  readonly store: StorePart<{ runs: 'list' | 'subjectsOf' }> &
    Pick<Store, 'now'> & {
      readonly catchUp: Pick<CatchUpStore, 'eventHeads'>
      readonly outbox: Pick<OutboxStore, 'list'>
    }
  readonly github: Pick<GitHub, 'headOf'> | null
}

export interface WantedClaim {
  readonly type: string
  readonly rerun: boolean
  readonly skipReason: string | null
  /** The head that GitHub named when asked, if the event names another or none. */
  readonly headNow: PullRequestHead | null
}

export interface FoundClaim {
  readonly request: ClaimRequest
  /** The comment that asked for the run, if the head may be newer than the comment. */
  readonly tooNewFor: AskingComment | null
}

/** Null when nobody knows which commits the event is about. */
export async function claimForEvent(
  event: EventFacts,
  wanted: WantedClaim,
  sources: ClaimSources,
): Promise<FoundClaim | null> {
  const { repo, push } = event
  if (repo === null) return null
  const common = commonOf(event, wanted, sources.store.now())
  if (push !== null) {
    const { ref, sha } = push
    const pair = `push:${ref}:sha-${sha}`
    const job = { kind: 'job', key: `${repo}:${pair}`, pair, subject: ref, repo, sha } as const
    return { request: { ...common, ...job }, tooNewFor: null }
  }
  const found = await targetOf(event, repo, wanted, sources)
  if (found === null) return null
  const { target, head } = found
  const request = { ...common, kind: 'pull_request', repo, ...target } as const
  const isTooNew = await mayBeNewer(event, repo, target.pr, head, sources)
  return { request, tooNewFor: isTooNew ? event.comment : null }
}

/** How many events of a pull request are read to find its heads. */
const eventsMax = 200
/** Events stay in the inbox for at least four days, so every event of this time is still there. */
const inboxKnowsMs = 3 * 24 * 60 * 60_000

async function mayBeNewer(
  event: EventFacts,
  repo: string,
  pr: number,
  head: NamedHead,
  { store }: ClaimSources,
): Promise<boolean> {
  const { comment } = event
  if (comment === null || !isCommand(event.name)) return false
  const received = await store.catchUp.eventHeads({ lane: laneOf(event) }, eventsMax)
  // A head that GitHub's answer or a claim named counts too. But a type that ignores pushes keeps
  // its first head, so that head counts only while the inbox would still show what replaced it.
  const subjectHeads = (await store.runs.subjectsOf(repo, pr, event.repoId)).flatMap(
    ({ headSha, headAt }): EventHead[] =>
      headSha === null || headAt === null || headAt < store.now() - inboxKnowsMs
        ? []
        : [{ headSha, at: headAt, by: 'mention' }],
  )
  return !isBeforeComment(comment.writtenAt, head, [...received, ...subjectHeads])
}

function commonOf(event: EventFacts, { type, rerun, skipReason }: WantedClaim, now: number) {
  const { webhookId, action, sender, eventAt } = event
  // A time ahead of our clock proves nothing. Without one, arrival decides and GitHub is asked.
  const isUsable = eventAt !== null && !isTooFarAhead(eventAt, now)
  return {
    type,
    rerun,
    webhookId,
    event: storedName(event),
    ...(action !== null && { action }),
    ...(sender !== null && { sender: sender.login }),
    ...(isUsable && { eventAt }),
    ...headMakingOf(event, rerun),
    ...(skipReason !== null && { skipReason }),
    ...(event.repoId !== null && { repoId: event.repoId }),
    ...(event.threadCreatedAt !== null && { threadCreatedAt: event.threadCreatedAt }),
    lease: false,
  }
}

/**
 * An event that only mentions a head does not change the head's order. A push makes its head, even
 * if it also reruns.
 */
function headMakingOf(event: EventFacts, rerun: boolean): { readonly headMaking?: boolean } {
  if (event.reconciled || (event.name !== 'pull_request' && event.push === null)) {
    return { headMaking: false }
  }
  return rerun ? { headMaking: event.push !== null || makesHead(event) } : {}
}

interface Target {
  readonly pr: number
  readonly baseSha: string
  readonly headSha: string
  readonly beforeSha?: string
  readonly headMaking?: false
  readonly headFromGitHub: boolean
}

interface FoundTarget {
  readonly target: Target
  readonly head: NamedHead
}

async function targetOf(
  event: EventFacts,
  repo: string,
  { type, headNow }: WantedClaim,
  { store, github }: ClaimSources,
): Promise<FoundTarget | null> {
  const { number, head, check, repoId } = event
  if (headNow !== null && number !== null) return targetFromGitHub(number, headNow)
  if (number !== null && head !== null) {
    const { baseSha, headSha, beforeSha, pushedAt } = head
    const before = beforeSha !== null && { beforeSha }
    return {
      target: { pr: number, baseSha, headSha, ...before, headFromGitHub: true },
      head: { headSha, updatedAt: event.eventAt, pushedAt },
    }
  }
  if (number !== null) {
    const place = { repo, repoGithubId: repoId }
    const found = github === null ? null : await github.headOf(place, number)
    if (found !== null) return targetFromGitHub(number, found)
    return await newestRun(store, { repo, repoId, pr: number, type })
  }
  if (check === null) return null
  const { headSha, pr } = check
  const filter = { repo, repoId, headSha, type, ...(pr !== null && { pr }) }
  return targetFromRun(await runOfCheck(store, filter, check))
}

function targetFromGitHub(pr: number, head: PullRequestHead): FoundTarget {
  const headSha = head.headSha.toLowerCase()
  const commits = { baseSha: head.baseSha, headSha }
  const target = { pr, ...commits, headMaking: false, headFromGitHub: true } as const
  return { target, head: { ...head, headSha } }
}

async function newestRun(store: ClaimSources['store'], of: RunFilter): Promise<FoundTarget | null> {
  const { items } = await store.runs.list(of, { limit: 1, cursor: null })
  return targetFromRun(items[0])
}

/** One commit can have several runs of a type: for several pull requests and bases. */
const runsPerCommitMax = 50

/**
 * The run that made the check, in any round; if none is known to have made it, the newest run on
 * its commit. GitHub's id is compared first: keys of older versions were the same for two pull
 * requests.
 */
async function runOfCheck(
  store: ClaimSources['store'],
  of: RunFilter,
  { id, externalId }: CheckFacts,
): Promise<Run | undefined> {
  const { items: runs } = await store.runs.list(of, { limit: runsPerCommitMax, cursor: null })
  if (runs.length < 2) return runs[0]
  let byKey: Run | undefined
  for (const run of runs) {
    const filter = { runId: run.id, channel: 'github-check' } as const
    const { items } = await store.outbox.list(filter, { limit: 1000, cursor: null })
    if (items.some(({ providerId }) => providerId === String(id))) return run
    if (items.some(({ markerKey }) => markerKey === externalId)) byKey ??= run
  }
  return byKey ?? runs[0]
}

function targetFromRun(run: Run | undefined): FoundTarget | null {
  if (run?.pr == null || run.baseSha === null || run.headSha === null) return null
  const { pr, baseSha, headSha, orderAt } = run
  return {
    target: { pr, baseSha, headSha, headFromGitHub: false },
    head: { headSha, updatedAt: orderAt, pushedAt: null },
  }
}
