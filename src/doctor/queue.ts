/** Checks of the queue. Without it everything works, but later, so a person should fix it. */
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import type { EngineHealth } from '../engine.ts'

export function checkQueue(health: EngineHealth): readonly Finding[] {
  const { ok, detail, remedy, warnings } = health
  if (!ok) return [problem('queue', detail, remedy ?? 'See the log of the server.')]
  return [
    fine('queue', `${detail}${waitingText(health)}`),
    ...warnings.map((one) => warning('queue.redis', one.detail, one.remedy)),
  ]
}

function waitingText({ waiting }: EngineHealth): string {
  const some = Object.entries(waiting).filter(([, count]) => (count ?? 0) > 0)
  if (some.length === 0) return ''
  return ` Wake-ups that nobody has taken yet: ${some.map((entry) => entry.join(' ')).join(', ')}.`
}
