/**
 * What an event means for each run type, by the configuration alone: no store, no network. The
 * `when` rule of a type is called here too; if it throws, only that type fails.
 *
 *   rerunOn ─▶ rerun    on ─▶ start    closed ─▶ cancel    anything else ─▶ nothing
 *
 * A rerun also starts a head that has no run yet. So an event in both lists counts as a rerun.
 */
import type { EventFilter } from '../../config.ts'
import type { Role } from '../../domain/role.ts'
import type { OwnAccount } from '../../github.ts'
import type { RunTypeSettings } from '../../settings/settings.ts'
import { cutText } from '../../texts/cut-text.ts'
import type { Sender, WebhookEvent } from './webhook-event.ts'

export type TypeRoute =
  | { readonly to: 'start' | 'rerun'; readonly type: string; readonly by: Role | null }
  | {
      readonly to: 'cancel'
      readonly type: string
      readonly repo: string
      readonly pr: number
    }
  /** Its `when` rule refused. */
  | { readonly to: 'skip'; readonly type: string; readonly reason: string }
  | {
      readonly to: 'nothing'
      readonly type: string
      readonly reason: string
      readonly detail?: string
    }
  | {
      readonly to: 'failure'
      readonly type: string
      readonly reason: string
      readonly detail: string
    }

export type RunTypes = Readonly<Record<string, RunTypeSettings>>

/** Empty when no type listens to this event. */
export function routeEvent(
  event: WebhookEvent,
  types: RunTypes,
  own: OwnAccount | null,
): readonly TypeRoute[] {
  return Object.entries(types).flatMap(([type, settings]) => {
    const configuredIntent = intentOf(event, settings)
    // Catch-up found this event, so nobody asked for a rerun.
    const startsOnly = event.reconciled && listensTo(settings.on, event)
    const intent = startsOnly ? 'start' : configuredIntent
    if (intent === null || !isForThisCheck(event, type, types)) return []
    if (intent === 'cancel') return [cancelOf(event, type)]
    const obstacle = obstacleTo(event, settings, intent, own)
    if (obstacle !== null) return [{ to: 'nothing', type, ...obstacle }]
    return [applyWhenRule(event, type, settings) ?? { to: intent, type, by: settings.by }]
  })
}

/** The commits no longer matter, but the number of the pull request does. */
function cancelOf({ repo, number, problem }: WebhookEvent, type: string): TypeRoute {
  if (repo !== null && number !== null) return { to: 'cancel', type, repo, pr: number }
  return problem === null
    ? { to: 'nothing', type, reason: 'no-pull-request' }
    : { to: 'nothing', type, reason: 'incomplete-payload', detail: problem }
}

/** Whether an event of this kind can matter to any run type. */
export function mayMatter(event: Kind, types: RunTypes): boolean {
  const { name, action } = event
  const moves = name === 'repository' && (action === 'renamed' || action === 'transferred')
  // Needed even if no type starts on it: an older `closed` may arrive late.
  const reopens = name === 'pull_request' && action === 'reopened'
  return (
    moves ||
    Object.values(types).some(
      (settings) =>
        intentOf(event, settings) !== null || (reopens && worksOnPullRequests(settings)),
    )
  )
}

type Kind = Pick<WebhookEvent, 'name' | 'action'>
type Intent = 'start' | 'rerun' | 'cancel'

function intentOf(event: Kind, settings: RunTypeSettings): Intent | null {
  if (listensTo(settings.rerunOn, event)) return 'rerun'
  if (listensTo(settings.on, event)) return 'start'
  const closes = event.name === 'pull_request' && event.action === 'closed'
  return closes && worksOnPullRequests(settings) ? 'cancel' : null
}

/** Comments on pull requests start work on them too. */
export function worksOnPullRequests({ on }: RunTypeSettings): boolean {
  return Object.keys(on).some((name) => /^(pull_request|issue_comment)/.test(name))
}

function listensTo(filter: EventFilter, { name, action }: Kind): boolean {
  const actions = Object.hasOwn(filter, name) ? filter[name] : undefined
  if (actions === undefined) return false
  return actions.length === 0 || (action !== null && actions.includes(action))
}

/** A rerequested check whose name is the status context of a type is for that type only. */
function isForThisCheck({ check, name }: WebhookEvent, type: string, types: RunTypes): boolean {
  if (name !== 'check_run' || check?.name == null) return true
  const named = Object.entries(types).find(([, settings]) => settings.statusContext === check.name)
  return named === undefined || named[0] === type
}

interface Obstacle {
  readonly reason: string
  readonly detail?: string
}

function obstacleTo(
  event: WebhookEvent,
  settings: RunTypeSettings,
  intent: 'start' | 'rerun',
  own: OwnAccount | null,
): Obstacle | null {
  const ownAllowed = settings.own && event.name.startsWith('pull_request')
  if (isOwn(event.sender, own) && !ownAllowed) return { reason: 'own-account' }
  if (event.problem !== null) return { reason: 'incomplete-payload', detail: event.problem }
  if (event.name === 'push' && event.push === null) return { reason: 'branch-deleted' }
  const hasTarget = event.isPullRequest || event.push !== null || event.check !== null
  if (!hasTarget) return { reason: 'no-pull-request' }
  if (event.prState === 'closed' && followsOpen(settings)) return { reason: 'pull-request-closed' }
  const starts = listensTo(settings.on, event)
  if (event.draft && starts && waitsForReady(settings)) return { reason: 'draft' }
  if (intent === 'rerun') return null
  const isEdit = event.name === 'pull_request' && event.action === 'edited'
  return isEdit && !event.baseChanged ? { reason: 'base-unchanged' } : null
}

const botSuffix = /\[bot\]$/i

/** Whether our own account sent the event: what we did ourselves must start nothing. */
function isOwn(sender: Sender | null, own: OwnAccount | null): boolean {
  if (sender === null || own === null) return false
  if (sender.id !== null && own.id !== null) return sender.id === own.id
  const login = sender.login.toLowerCase()
  const sameName = login.replace(botSuffix, '') === own.login.toLowerCase().replace(botSuffix, '')
  // A person may have the name of an App; an App is always a bot.
  const isBot = botSuffix.test(login) || sender.type === 'Bot'
  return sameName && isBot === (own.kind === 'app')
}

/** A type that starts on `closed` works on closed pull requests; all others need open ones. */
export function followsOpen({ on }: RunTypeSettings): boolean {
  const actions = on['pull_request']
  return actions === undefined || (actions.length > 0 && !actions.includes('closed'))
}

/** A type that starts on `ready_for_review` does not start on drafts. */
function waitsForReady({ on }: RunTypeSettings): boolean {
  return on['pull_request']?.includes('ready_for_review') === true
}

/** Null when the `when` rule allows it. GitHub's rerun button skips the rule. */
function applyWhenRule(
  event: WebhookEvent,
  type: string,
  { when }: RunTypeSettings,
): TypeRoute | null {
  const isButton = /^check_/.test(event.name) && event.action === 'rerequested'
  if (when === null || isButton) return null
  const { name, action, repo, sender, payload } = event
  const failed = (detail: string): TypeRoute => {
    return { to: 'failure', type, reason: 'when-failed', detail: oneLine(detail) }
  }
  try {
    const who = sender?.login ?? 'ghost'
    const answer: unknown = when({ name, action, repo: repo ?? '', sender: who, payload })
    if (answer === true) return null
    if (answer instanceof Promise) {
      answer.catch(() => undefined)
      return failed('when returned a promise; it must return its answer directly')
    }
    const reason = typeof answer === 'string' ? oneLine(answer) : ''
    return { to: 'skip', type, reason: reason === '' ? 'filtered' : reason }
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error))
  }
}

const oneLine = (text: string): string =>
  cutText(text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim(), 200)
