/** Rule 4: every webhook that was answered with 2xx is stored and was processed once. */
import type { Facts } from '../facts.ts'
import type { HookDelivery } from '../../simulator/index.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'

/** Actions of pull requests that Holdfast acts on. */
export const handledActions = new Set([
  'opened',
  'reopened',
  'ready_for_review',
  'synchronize',
  'edited',
  'closed',
])

/** A restore lost it. Catch-up fetches it again only for an App, and only if it has an effect. */
function isForgotten(delivery: HookDelivery, world: World): boolean {
  const { event, action, deliveredAtMs, durationMs } = delivery
  const times = [deliveredAtMs, deliveredAtMs + durationMs]
  if (!times.some((at) => world.isForgotten(at))) return false
  const isPull = event === 'pull_request' && handledActions.has(action ?? '')
  const isRerun = event === 'check_run' && action === 'rerequested'
  return !world.isApp || !(isPull || isRerun)
}

export function checkInbox(facts: Facts, world: World, findings: Findings): void {
  const stored = new Set(facts.inbox.map((entry) => entry.webhook_id))
  for (const delivery of world.github.hooks.log.all()) {
    const { guid, statusCode } = delivery
    if (statusCode < 200 || statusCode > 299 || isForgotten(delivery, world)) continue
    findings.check(
      '4',
      stored.has(guid),
      () => `webhook ${guid} was answered ${statusCode} and lost`,
    )
  }
  const processed = new Map<string, number>()
  const replayed = new Set<string>()
  for (const { type, inbox_id: inbox } of facts.audit) {
    if (inbox === null) continue
    if (type === 'operator.replay_requested') replayed.add(inbox)
    if (type === 'webhook.processed') processed.set(inbox, (processed.get(inbox) ?? 0) + 1)
  }
  for (const { id, state, decision, reason } of facts.inbox) {
    findings.check('4', state === 'processed', () => `inbox entry ${id} is ${state} (${reason})`)
    // An operator replayed it; other rules check what followed.
    if (replayed.has(id)) continue
    const times = processed.get(id) ?? 0
    findings.check('4', times <= 1, () => `inbox entry ${id} was processed ${times} times`)
    if (decision === 'duplicate') {
      findings.check(
        '4',
        times === 0,
        () => `inbox entry ${id} is a duplicate, but it was processed`,
      )
    }
  }
}
