/**
 * From a routed event to the claim it makes. Most events carry the pull request's commits; where
 * one does not (a comment, a check), they are found: by asking GitHub, or among our own runs.
 */
import type { GitHub } from '../github.ts'
import type { PullRequestHead } from '../head-source.ts'
import type { ClaimRequest } from '../runs/runs.ts'
import { isTooFarAhead } from '../runs/claim-request.ts'
import type { RunFilter, Store } from '../store.ts'
import { storedName, type EventFacts } from './webhook-event.ts'

export interface ClaimSources {
  readonly store: Pick<Store, 'listRuns' | 'now'>
  readonly github: Pick<GitHub, 'look'> | null
}

export interface ClaimWish {
  readonly type: string
  readonly rerun: boolean
  readonly skipReason: string | null
  /** The head that GitHub names now, where it is another than the event's own. */
  readonly headNow?: Pick<PullRequestHead, 'baseSha' | 'headSha'> | undefined
}

/** Null when nobody can tell which commits it is about. */
export async function claimForEvent(
  event: EventFacts,
  wish: ClaimWish,
  sources: ClaimSources,
): Promise<ClaimRequest | null> {
  const { repo, push } = event
  if (repo === null) return null
  const common = commonOf(event, wish, sources.store.now())
  if (push !== null) {
    const { ref, sha } = push
    return {
      ...common,
      kind: 'job',
      key: `${repo}:push:${ref}:sha-${sha}`,
      subject: ref,
      repo,
      sha,
    }
  }
  const { headNow } = wish
  if (headNow !== undefined && event.number !== null) {
    const target = { pr: event.number, baseSha: headNow.baseSha, headSha: headNow.headSha }
    const fromGitHub = { headMaking: false, headFromGitHub: true }
    return { ...common, kind: 'pull_request', repo, ...target, ...fromGitHub }
  }
  const target = await targetOf(event, repo, wish.type, sources)
  return target === null ? null : { ...common, kind: 'pull_request', repo, ...target }
}

function commonOf(event: EventFacts, { type, rerun, skipReason }: ClaimWish, now: number) {
  const { webhookId, name, reconciled, action, sender, eventAt } = event
  // Ahead of our clock it proves nothing; without it arrival orders, and GitHub is asked.
  const isUsable = eventAt !== null && !isTooFarAhead(eventAt, now)
  return {
    type,
    rerun,
    webhookId,
    event: storedName(event),
    ...(action !== null && { action }),
    ...(sender !== null && { sender: sender.login }),
    ...(isUsable && { eventAt }),
    // What merely mentions a head uses the order it has.
    ...((reconciled || (name !== 'pull_request' && event.push === null)) && { headMaking: false }),
    ...(skipReason !== null && { skipReason }),
    ...(event.repoId !== null && { repoId: event.repoId }),
    ...(event.threadCreatedAt !== null && { threadCreatedAt: event.threadCreatedAt }),
    lease: false,
  }
}

interface Target {
  readonly pr: number
  readonly baseSha: string
  readonly headSha: string
  readonly beforeSha?: string
  readonly headFromGitHub: boolean
}

async function targetOf(
  event: EventFacts,
  repo: string,
  type: string,
  { store, github }: ClaimSources,
): Promise<Target | null> {
  const { number, head, check } = event
  if (number !== null && head !== null) {
    const { baseSha, headSha, beforeSha } = head
    const before = beforeSha !== null && { beforeSha }
    return { pr: number, baseSha, headSha, ...before, headFromGitHub: true }
  }
  if (number !== null) {
    const found = github === null ? null : await github.look(repo, number)
    if (found !== null) {
      const { baseSha, headSha } = found
      return { pr: number, baseSha, headSha, headFromGitHub: true }
    }
    return await newestRun(store, { repo, pr: number, type })
  }
  if (check === null) return null
  const { headSha, pr } = check
  return await newestRun(store, { repo, headSha, type, ...(pr !== null && { pr }) })
}

async function newestRun(store: ClaimSources['store'], of: RunFilter): Promise<Target | null> {
  const { items } = await store.listRuns(of, { limit: 1, cursor: null })
  const [run] = items
  if (run?.pr == null || run.baseSha === null || run.headSha === null) return null
  const { pr, baseSha, headSha } = run
  return { pr, baseSha, headSha, headFromGitHub: false }
}
