/** Rule 7 for labels: a label that was wanted is there, one that was not wanted is not. */
import type { Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { isExcused } from './excused.ts'
import { repoOf, targetOf } from './places.ts'

export function checkLabels(facts: Facts, world: World, findings: Findings): void {
  for (const delivery of facts.deliveries) {
    if (delivery.channel !== 'github-label' || isExcused(delivery, facts, world)) continue
    // One that was purged or gave way in a merge is remembered here; its label is another run's.
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
