/** Sends one webhook as GitHub does: once, without a retry. */
import type { PlannedDelivery } from './webhook-plan.ts'

/** The status, or null when no answer came. */
export async function postWebhook(
  url: string,
  { headers, body }: PlannedDelivery,
): Promise<number | null> {
  try {
    const answer = await fetch(`${url}/webhooks/github`, { method: 'POST', headers, body })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return null
  }
}
