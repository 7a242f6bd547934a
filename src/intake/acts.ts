/**
 * Plans what the store does about a routed event. Asks GitHub what only GitHub knows (roles, the
 * head a comment is about) and makes the claims. Changes nothing itself, except that it stores the
 * repository's id and name.
 */
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Claim } from '../domain/claim.ts'
import { pairOf } from '../domain/pair.ts'
import type { Role } from '../domain/role.ts'
import { isActive } from '../domain/run.ts'
import type { GitHub } from '../github.ts'
import type { PullRequestHead } from '../head-source.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import type { ClaimRequest } from '../runs/runs.ts'
import type { Store, StorePart, WebhookAct } from '../store.ts'
import {
  claimForEvent,
  type ClaimSources,
  type WantedClaim,
  type FoundClaim,
} from './claim-event.ts'
import { outcomesOf } from './decide-at-arrival.ts'
import type { OwnAccountWatch } from './asking/own-account-watch.ts'
import { refuseSender, type RoleSource } from './asking/role-gate.ts'
import { followsOpen, routeEvent, type RunTypes, type TypeRoute } from './events/route-event.ts'
import {
  namesNewHead,
  isCommand,
  type EventFacts,
  type WebhookEvent,
} from './events/webhook-event.ts'
import { isTooFarAhead } from '../runs/claim-request.ts'

export interface ActPlannerOptions {
  readonly types: RunTypes
  readonly store: StorePart<{ runs: 'list' | 'get' | 'subjectsOf'; repositories: 'learn' }> &
    Pick<Store, 'now'> & {
      readonly catchUp: Pick<CatchUpStore, 'eventHeads'>
      readonly outbox: Pick<OutboxStore, 'list'>
    }
  /** Null in the sandbox. Both this and `roles` reject with GitHubNotAsked. */
  readonly github: Pick<GitHub, 'headOf'> | null
  readonly roles: RoleSource | null
  readonly account: Pick<OwnAccountWatch, 'current' | 'firstAsked'>
  readonly toClaim: (request: ClaimRequest, actor: string) => Claim
}

export class ActPlanner {
  readonly #options: ActPlannerOptions

  constructor(options: ActPlannerOptions) {
    this.#options = options
  }

  /** For an event read from the store: by today's rules, once our own account is known. */
  async routesFor(event: WebhookEvent): Promise<readonly TypeRoute[]> {
    const { types, account } = this.#options
    await account.firstAsked
    return routeEvent(event, types, account.current())
  }

  /**
   * The event's pull request as GitHub shows it now. Null when nobody can say: then the order of
   * arrival decides. Rejects with GitHubNotAsked.
   */
  async askPull(event: EventFacts): Promise<PullRequestHead | null> {
    const { repo, repoId, number, isPullRequest } = event
    const { github } = this.#options
    if (github === null || repo === null || number === null || !isPullRequest) return null
    return await github.headOf({ repo, repoGithubId: repoId }, number)
  }

  /**
   * What the event leads to. `pullNow` is GitHub's present answer about the pull request; null if
   * GitHub was not asked. Rejects with GitHubNotAsked when the event must be tried again later.
   */
  async actsFor(
    event: EventFacts,
    routes: readonly TypeRoute[],
    pullNow: PullRequestHead | null = null,
  ): Promise<readonly WebhookAct[]> {
    await learnRepository(this.#options.store, event)
    const acts: WebhookAct[] = []
    const wanted = event.reconciled ? await this.#ignoreKnownHeads(event, routes) : routes
    const { github } = this.#options
    const sources = { store: this.#options.store, github: github && askOnce(github) }
    for (const route of wanted) acts.push(...(await this.#actsOf(event, route, pullNow, sources)))
    return pullNow === null ? acts : acts.map((act) => ignoreIfStateChanged(act, pullNow))
  }

  /** Ignores the event for types that already have its head, so nothing starts twice. */
  async #ignoreKnownHeads(
    event: EventFacts,
    routes: readonly TypeRoute[],
  ): Promise<readonly TypeRoute[]> {
    const needNoRun = await Promise.all(routes.map((route) => this.needsNoRun(event, route)))
    return routes.map((route, i): TypeRoute => {
      return needNoRun[i] === true
        ? { to: 'nothing', type: route.type, reason: 'head-known' }
        : route
    })
  }

  /**
   * Whether the event needs no new run, because its head is already the type's current one (with
   * the same base, if the event changed the base). A run on that head is not enough: another head
   * may have become current after it. A run that ended because its pull request was closed does
   * not count for an open pull request.
   */
  async needsNoRun(event: EventFacts, { to, type }: TypeRoute): Promise<boolean> {
    const { store } = this.#options
    const { repo, repoId, number, head } = event
    if (repo === null || number === null || head === null || to === 'cancel') return false
    const subject = (await store.runs.subjectsOf(repo, number, repoId)).find(
      (candidate) => candidate.type === type,
    )
    if (subject?.headSha !== head.headSha || subject.currentRunId === null) return false
    if (event.baseChanged && subject.currentPair !== pairOf(head)) return false
    const run = await store.runs.get(subject.currentRunId)
    // Reopening restarts whatever did not succeed, as the missed event would have done.
    if (event.action === 'reopened') {
      if (run === null) return subject.currentEnded === 'succeeded'
      return isActive(run) || run.state === 'succeeded'
    }
    if (run === null) return subject.finishedHeadSha === head.headSha
    return run.errorCode !== 'pull_request_closed'
  }

  /** The outcomes of an event that is given up. */
  failuresFor(
    routes: readonly TypeRoute[],
    reason: string,
    detail: string | null,
  ): readonly WebhookAct[] {
    return routes.map(({ type }): WebhookAct => {
      const outcome = { type, result: 'failed', reason, runIds: [] } as const
      return { act: 'note', outcome: detail === null ? outcome : { ...outcome, detail } }
    })
  }

  async #actsOf(
    event: EventFacts,
    route: TypeRoute,
    pullNow: PullRequestHead | null,
    sources: ClaimSources,
  ): Promise<readonly WebhookAct[]> {
    const { type } = route
    const namesCurrentHead =
      pullNow === null || event.head?.headSha === pullNow.headSha.toLowerCase()
    const usesOwnHead = namesCurrentHead && !(await this.#hasRunOnCurrentBase(pullNow, event, type))
    const headNow = usesOwnHead ? null : pullNow
    switch (route.to) {
      case 'start':
      case 'rerun': {
        if (!namesCurrentHead && concernsOnlyItsHead(event, route.by)) {
          return [ignored(type, 'head-changed-since')]
        }
        const refusal =
          route.by === null ? null : await refuseSender(event, route.by, this.#options.roles)
        if (refusal !== null) {
          return [{ act: 'note', outcome: { type, result: 'ignored', ...refusal, runIds: [] } }]
        }
        const wanted = { type, rerun: route.to === 'rerun', skipReason: null, headNow }
        return [this.#claim(event, wanted, await claimForEvent(event, wanted, sources))]
      }
      case 'skip': {
        if (!namesNewHead(event)) return noteActs(route)
        const wanted = { type, rerun: false, skipReason: route.reason, headNow }
        return [this.#claim(event, wanted, await claimForEvent(event, wanted, sources))]
      }
      case 'cancel':
        return [{ act: 'cancel', type, repo: route.repo, pr: route.pr }]
      default:
        return noteActs(route)
    }
  }

  /**
   * Whether GitHub names another base than the event, and the event's head has a run on that base.
   * Another base without a run proves nothing: the base changes with every push to its branch.
   */
  async #hasRunOnCurrentBase(
    pullNow: PullRequestHead | null,
    { repo, repoId, number, head }: EventFacts,
    type: string,
  ): Promise<boolean> {
    if (pullNow === null || repo === null || number === null || head === null) return false
    const baseSha = pullNow.baseSha.toLowerCase()
    if (head.baseSha === baseSha) return false
    const filter = { repo, repoId, pr: number, type, headSha: head.headSha }
    const { items } = await this.#options.store.runs.list(filter, { limit: 100, cursor: null })
    return items.some((run) => run.baseSha === baseSha)
  }

  #claim(event: EventFacts, { type }: WantedClaim, found: FoundClaim | null): WebhookAct {
    const { toClaim, types } = this.#options
    if (found === null) return ignored(type, 'head-unknown')
    const settings = types[type]
    const claim = toClaim(found.request, `github:${event.sender?.login ?? 'ghost'}`)
    const { tooNewFor } = found
    if (tooNewFor !== null) return { act: 'refuse', claim, comment: tooNewFor }
    return { act: 'claim', claim, whileOpen: settings !== undefined && followsOpen(settings) }
  }
}

/**
 * Whether somebody with rights (who set a label, or has the required role) decided about the head
 * that the event names. Their decision does not cover commits that were pushed later. (A comment
 * may be older than the head in its own payload, so its time is compared instead.)
 */
function concernsOnlyItsHead(event: EventFacts, by: Role | null): boolean {
  if (event.head === null || isCommand(event.name)) return false
  return by !== null || !namesNewHead(event)
}

/** If the event and GitHub's present answer disagree on open or closed, GitHub's answer counts. */
function ignoreIfStateChanged(act: WebhookAct, { state }: PullRequestHead): WebhookAct {
  if (act.act === 'cancel' && state === 'open') return ignored(act.type, 'reopened-since')
  const isForOpen = act.act === 'claim' && act.whileOpen
  return isForOpen && state === 'closed' ? ignored(act.claim.type, 'closed-since') : act
}

function ignored(type: string, reason: string): WebhookAct {
  return { act: 'note', outcome: { type, result: 'ignored', reason, runIds: [] } }
}

function noteActs(route: TypeRoute): readonly WebhookAct[] {
  return outcomesOf(route).map((outcome) => ({ act: 'note', outcome }))
}

/** An event is about one pull request, so all run types use one answer of GitHub. */
function askOnce(source: Pick<GitHub, 'headOf'>): Pick<GitHub, 'headOf'> {
  let answer: ReturnType<GitHub['headOf']> | undefined
  return { headOf: (repository, pr) => (answer ??= source.headOf(repository, pr)) }
}

/** Stores the id and name of an event's repository. The id stays the same after a rename. */
export async function learnRepository(
  store: StorePart<{ repositories: 'learn' }> & Pick<Store, 'now'>,
  { repo, repoId, nameAt }: EventFacts,
): Promise<void> {
  if (repo === null || repoId === null) return
  const isUsable = nameAt !== null && !isTooFarAhead(nameAt, store.now())
  await store.repositories.learn(repo, repoId, isUsable ? nameAt : null, 'github')
}
