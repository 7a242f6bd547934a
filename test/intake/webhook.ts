/**
 * Webhooks as GitHub sends them: the bytes of the body, its signature, and the headers that name
 * it.
 */
import { createHmac, randomUUID } from 'node:crypto'

export const webhookSecret = 'a-webhook-secret-for-tests'

export interface Webhook {
  readonly event: string
  /** A text is sent unchanged, anything else as JSON. */
  readonly payload: unknown
  readonly guid?: string
  readonly secret?: string
}

export interface SignedWebhook {
  readonly guid: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export function signed({
  event,
  payload,
  guid = randomUUID(),
  secret = webhookSecret,
}: Webhook): SignedWebhook {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'GitHub-Hookshot/0000000',
    'x-github-delivery': guid,
    'x-github-event': event,
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  }
  return { guid, body, headers }
}
