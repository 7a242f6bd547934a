/** Rule 4: what GitHub was told is accepted is there and was processed, with one effect. */
import type { Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'

export function checkInbox(facts: Facts, world: World, findings: Findings): void {
  const stored = new Set(facts.inbox.map((entry) => entry.webhook_id))
  for (const { guid, statusCode } of world.github.hooks.log.all()) {
    if (statusCode < 200 || statusCode > 299) continue
    findings.check(
      '4',
      stored.has(guid),
      () => `webhook ${guid} was answered ${statusCode} and lost`,
    )
  }
  const done = new Map<string, number>()
  const replayed = new Set<string>()
  for (const { type, inbox_id: inbox } of facts.audit) {
    if (inbox === null) continue
    if (type === 'operator.replay_requested') replayed.add(inbox)
    if (type === 'webhook.processed') done.set(inbox, (done.get(inbox) ?? 0) + 1)
  }
  for (const { id, state, decision, reason } of facts.inbox) {
    findings.check('4', state === 'processed', () => `inbox entry ${id} is ${state} (${reason})`)
    // Somebody wanted it decided again, and its claims answer for themselves.
    if (replayed.has(id)) continue
    const times = done.get(id) ?? 0
    findings.check('4', times <= 1, () => `inbox entry ${id} was processed ${times} times`)
    if (decision === 'duplicate') {
      findings.check('4', times === 0, () => `a repeat, inbox entry ${id}, was processed`)
    }
  }
}
