/** Rule 7 for labels: GitHub has each label that should be present, and none that should not. */
import type { Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { isExcused } from './excused.ts'
import { repoOf, targetOf } from './places.ts'

export function checkLabels(facts: Facts, world: World, findings: Findings): void {
  for (const delivery of facts.deliveries) {
    if (delivery.channel !== 'github-label' || isExcused(delivery, facts, world)) continue
    // A purged or merged delivery is still in the facts, but a newer one decides its label.
    const isReplaced = facts.deliveries.some((other) => {
      const isSame = targetOf(other) === targetOf(delivery)
      return isSame && other.version_fence > delivery.version_fence
    })
    if (isReplaced) continue
    const { label, present } = JSON.parse(delivery.content) as { label: string; present: boolean }
    const repo = repoOf(delivery, facts, world)
    const isThere = world.github.labels(repo, delivery.thread ?? 0).includes(label)
    findings.check('7', isThere === present, () => {
      const is = isThere ? 'is' : 'is not'
      return `label "${label}" of ${delivery.id} ${is} on ${repo}#${delivery.thread}`
    })
  }
}
