/**
 * A whole server in this process that receives webhooks, over a real socket and a real SQLite file.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { pino } from 'pino'
import { compose } from '../../src/compose.ts'
import type { Config } from '../../src/config.ts'
import type { InboxEntry } from '../../src/domain/inbox.ts'
import type { Store } from '../../src/store.ts'
import { loadSettings } from '../../src/settings/load-settings.ts'
import { signed, webhookSecret, type Webhook } from './webhook.ts'

export interface WebhookAnswer {
  readonly status: number
  readonly body: {
    readonly inbox_id: string
    readonly decision: string
    readonly reason: string | null
    readonly run_ids: readonly string[]
  }
}

export interface WebhookServer {
  /** The address for webhooks. */
  readonly url: string
  readonly store: Store
  /** The log lines that are warnings or worse. */
  readonly complaints: readonly string[]
  send(webhook: Webhook): Promise<WebhookAnswer>
  /** Waits until no entry waits. Returns all entries, newest first. */
  processed(): Promise<readonly InboxEntry[]>
  close(): Promise<void>
}

export async function openWebhookServer(config: Config = {}): Promise<WebhookServer> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-webhooks-'))
  const env = { HOLDFAST_DATA_DIR: folder, HOLDFAST_PORT: '0' }
  const settings = await loadSettings({ env, cwd: folder, inline: config })
  const complaints: string[] = []
  const app = await compose(settings, {
    adminToken: 'an-admin-token-of-good-length',
    webhookSecrets: [webhookSecret],
    log: pino({ level: 'warn' }, { write: (line: string) => void complaints.push(line) }),
    version: '0.0.0',
  })
  const { url: server } = await app.listen()
  const url = `${server}/webhooks/github`
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  return {
    url,
    store: app.store,
    complaints,
    async send(webhook) {
      const { body, headers } = signed(webhook)
      const sent = request(url, { method: 'POST', agent, headers }).end(body)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      return {
        status: answer.statusCode ?? 0,
        body: (await json(answer)) as WebhookAnswer['body'],
      }
    },
    processed: () => allProcessed(app.store),
    async close() {
      agent.destroy()
      await app.close()
      rmSync(folder, { recursive: true })
    },
  }
}

const lookEveryMs = 20
const patienceMs = 20_000

async function allProcessed(store: Store): Promise<readonly InboxEntry[]> {
  const giveUpAt = Date.now() + patienceMs
  while ((await store.inbox.backlog()).waiting > 0 && Date.now() < giveUpAt) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
  const all: InboxEntry[] = []
  let cursor: string | null = null
  do {
    const page = await store.inbox.list({}, { limit: 1000, cursor })
    all.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null)
  return all
}
