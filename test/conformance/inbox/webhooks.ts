/** Builders: webhooks and what is decided about them, with everything filled in. */
import { brotliCompressSync } from 'node:zlib'
import type { InboxEntry, TypeOutcome } from '../../../src/domain/inbox.ts'
import type { Claim } from '../../../src/domain/claim.ts'
import type {
  DecidedWebhook,
  DueWebhooks,
  NewWebhook,
  Store,
  WebhookAct,
} from '../../../src/store.ts'
import { unique } from '../claims.ts'

export function newWebhook(over: Partial<NewWebhook> = {}): NewWebhook {
  const webhookId = over.webhookId ?? unique('guid')
  return {
    webhookId,
    event: 'pull_request',
    action: 'opened',
    repo: 'acme/widgets',
    repoId: 42,
    number: 5,
    sender: 'mona',
    lane: unique('lane'),
    eventAt: null,
    prState: null,
    decision: 'accepted',
    reason: null,
    outcomes: [],
    eventKey: null,
    head: null,
    waits: true,
    body: { headers: '{}', body: brotliCompressSync(Buffer.from(`{"of":"${webhookId}"}`)) },
    ...over,
  }
}

/** Stores a new webhook. */
export async function received(store: Store, over: Partial<NewWebhook> = {}): Promise<InboxEntry> {
  return (await store.inbox.receive(newWebhook(over))).entry
}

export function decided(entry: InboxEntry, ...acts: readonly WebhookAct[]): DecidedWebhook {
  return { entryId: entry.id, lane: entry.lane, acts, reason: acts.length === 0 ? 'nobody' : null }
}

export const claiming = (claim: Claim, whileOpen = true): WebhookAct => ({
  act: 'claim',
  claim: { ...claim, lease: null },
  whileOpen,
})

export const noting = (
  type: string,
  result: TypeOutcome['result'],
  reason: string,
): WebhookAct => ({
  act: 'note',
  outcome: { type, result, reason, runIds: [] },
})

/** The types of the audit rows of an entry, oldest first. */
export async function auditTypesOf(
  { store }: { readonly store: Store },
  { id }: Pick<InboxEntry, 'id'>,
): Promise<readonly string[]> {
  const { items } = await store.audit.list({ inboxId: id }, { limit: 1000, cursor: null })
  return items.toReversed().map(({ type }) => type)
}

/** All due entries of all parties, as repeated looks find them. */
export async function allDue(store: Store): Promise<readonly InboxEntry[]> {
  const found = new Map<string, InboxEntry>()
  let after: string | null = null
  const lanesAfter = new Map<string, string>()
  do {
    const due: DueWebhooks = await store.inbox.due({ after, lanesAfter })
    for (const entry of due.entries) found.set(entry.id, entry)
    for (const [party, lane] of due.lanesTo) {
      if (lane === null) lanesAfter.delete(party)
      else lanesAfter.set(party, lane)
    }
    after = due.after
  } while (after !== null || lanesAfter.size > 0)
  return [...found.values()]
}
