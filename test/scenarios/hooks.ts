/** GitHub's side of a scenario: sends webhooks to a server and reads what the server decided. */
import { request } from 'node:http'
import { signed, webhookSecret, type Webhook } from '../intake/webhook.ts'
import type { RunJson } from './client.ts'
import type { Server } from './server.ts'
import { until } from './until.ts'

export interface HookAnswer {
  readonly status: number
  readonly body: {
    readonly inbox_id: string
    readonly decision: string
    readonly reason: string | null
    readonly run_ids: readonly string[]
    readonly code: string
    readonly hint: string
  }
}

export interface InboxJson {
  readonly id: string
  readonly webhook_id: string
  readonly state: string
  readonly decision: string
  readonly reason: string | null
  readonly run_ids: readonly string[]
  readonly outcomes: readonly {
    readonly type: string
    readonly result: string
    readonly reason: string
    readonly detail: string | null
  }[]
  readonly tries: number
  readonly duplicate_of: string | null
}

interface AuditJson {
  readonly type: string
  readonly data: { readonly webhook_id?: string }
}

export type HookRun = RunJson & {
  readonly type: string
  readonly repo: string
  readonly head_sha: string
  readonly base_sha: string
}

export const hookEnv = { GITHUB_WEBHOOK_SECRET: webhookSecret }

export class Hooks {
  readonly #server: Server
  readonly #url: string

  constructor(server: Server) {
    this.#server = server
    this.#url = `${server.url}/webhooks/github`
  }

  send(webhook: Webhook): Promise<HookAnswer> {
    const { body, headers } = signed(webhook)
    return this.raw(body, headers)
  }

  async raw(body: string, headers: Readonly<Record<string, string>>): Promise<HookAnswer> {
    const answer = await fetch(this.#url, { method: 'POST', headers, body })
    return { status: answer.status, body: (await answer.json()) as HookAnswer['body'] }
  }

  /** Sends the headers and this many spaces. Returns the status. */
  async flood(bytes: number, headers: Readonly<Record<string, string>>): Promise<number> {
    const sent = request(this.#url, { method: 'POST', headers, agent: false })
    const answered = new Promise<number>((resolve, reject) => {
      sent.once('response', (answer) => resolve(answer.statusCode ?? 0))
      sent.on('error', reject)
    })
    sent.flushHeaders()
    if (bytes > 0) sent.end(Buffer.alloc(bytes, ' '))
    return await answered.finally(() => sent.destroy())
  }

  async entry(id: string): Promise<InboxJson> {
    return (await this.#server.admin.get(`/v1/inbox/${id}`)).body as unknown as InboxJson
  }

  /** The entry, once it is processed. */
  decided(id: string): Promise<InboxJson> {
    return until(
      () => this.entry(id),
      ({ state }) => state === 'processed' || state === 'failed',
    )
  }

  /** Sends it and waits until it is processed. */
  async settle(webhook: Webhook): Promise<InboxJson> {
    const { status, body } = await this.send(webhook)
    if (status > 202) throw new Error(`answered ${status} ${JSON.stringify(body)}`)
    return await this.decided(body.inbox_id)
  }

  async inbox(query: string): Promise<readonly InboxJson[]> {
    const { body } = await this.#server.admin.get(`/v1/inbox?limit=1000&${query}`)
    return body.items as unknown as InboxJson[]
  }

  /** Oldest first. */
  async runs(repo: string): Promise<readonly HookRun[]> {
    const { body } = await this.#server.admin.get(`/v1/runs?limit=1000&repo=${repo}`)
    return (body.items as unknown as HookRun[]).toReversed()
  }

  /** How many audit rows of each type this webhook has. */
  async auditCounts(guid: string): Promise<Readonly<Record<string, number>>> {
    const { body } = await this.#server.admin.get('/v1/audit?limit=1000')
    const counts: Record<string, number> = {}
    for (const { type, data } of body.items as unknown as AuditJson[]) {
      if (data.webhook_id === guid && type.startsWith('webhook.')) {
        counts[type] = (counts[type] ?? 0) + 1
      }
    }
    return counts
  }
}
