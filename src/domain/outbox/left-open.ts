/**
 * A run ended and left a status or check of its own "under way": what it has to say instead. A run
 * that ended well and forgot it did not say that this came out well.
 */
import type { Run } from '../run.ts'
import type { Delivery } from './delivery.ts'
import { checkOf, statusOf } from './status-words.ts'

const forgotten = 'Ended without a result'

export function closedContent(
  existing: Pick<Delivery, 'channel' | 'content'>,
  run: Run,
  now: number,
): Readonly<Record<string, unknown>> {
  const content = JSON.parse(existing.content) as Record<string, unknown>
  const endedWell = run.state === 'succeeded' || run.state === 'skipped'
  if (existing.channel === 'github-check') {
    const { conclusion, title } = checkOf(run)
    return {
      ...content,
      status: 'completed',
      conclusion: endedWell ? 'neutral' : conclusion,
      title: endedWell ? forgotten : title,
      completedAt: now,
    }
  }
  const { state, description } = statusOf(run)
  return {
    ...content,
    ...(endedWell ? { state: 'error', description: forgotten } : { state, description }),
  }
}
