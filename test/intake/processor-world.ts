/**
 * A processor over a store that keeps entries in a list. Time does not pass until a test moves it,
 * and only a test fires timers.
 */
import { brotliCompressSync } from 'node:zlib'
import type { InboxEntry } from '../../src/domain/inbox.ts'
import { decisionOf, repositoryKeyOf } from '../../src/domain/inbox.ts'
import { StoreContendedError, StoreUnavailableError } from '../../src/errors.ts'
import { GitHubError, trouble } from '../../src/github/errors.ts'
import { GitHubNotAsked } from '../../src/intake/asking/github-questions.ts'
import { Processor, type ProcessorOptions } from '../../src/intake/processor.ts'
import type { EventFacts } from '../../src/intake/events/webhook-event.ts'
import { readEvent } from '../../src/intake/events/webhook-event.ts'
import { noMetrics, type PutOffReason } from '../../src/metrics.ts'
import { StartOffers } from '../../src/runs/start-offers.ts'
import type { Scheduler } from '../../src/scheduler.ts'
import type { DueWebhooks, WebhookAct } from '../../src/store.ts'

const say = (): void => undefined
const log = { debug: say, info: say, warn: say, error: say }
const noOffers = new StartOffers({ reserve: () => null }, () => {
  throw new Error('nothing is reserved')
})
export const contended = () => new StoreContendedError('store_contended', 'a run changed')
export const away = () => new StoreUnavailableError('store_unreachable', 'away')

class Timers implements Scheduler {
  readonly waiting = new Map<object, { ms: number; task: () => void }>()
  soon = (task: () => void): void => queueMicrotask(task)
  after = (ms: number, task: () => void) => {
    const timer = {}
    this.waiting.set(timer, { ms, task })
    return () => void this.waiting.delete(timer)
  }
  afterInBackground = this.after
  fire(): void {
    for (const [timer, { task }] of [...this.waiting]) {
      this.waiting.delete(timer)
      task()
    }
  }
}

export class ProcessorWorld {
  now = 1_000_000
  readonly entries: InboxEntry[] = []
  readonly bodies = new Map<number, Uint8Array>()
  readonly timers = new Timers()
  readonly acted: string[] = []
  looks = 0
  readonly putOff: PutOffReason[] = []
  largestInHand = 0
  #inHand = 0
  storeIsAway = false
  bodyIsDamaged = 0
  /**
   * Called before an entry is finished; may reject or wait. Not called when an entry is given up.
   */
  settling: (id: string) => Promise<void> = async () => undefined
  /** Entries that are finished only after a look at GitHub. */
  readonly unclear = new Set<string>()
  /** Returns the pull request on GitHub; may throw or wait. */
  seePull: ProcessorOptions['acts']['askPull'] = async () => null
  /** What an event leads to; may throw or wait. */
  decide: (event: EventFacts) => Promise<readonly WebhookAct[]> | readonly WebhookAct[] = () => []
  readonly processor: Processor

  constructor() {
    this.processor = new Processor({
      store: {
        now: () => this.now,
        inbox: {
          due: async ({ after = null }) => this.#due(after),
          body: async (arrival) => {
            if (this.storeIsAway || this.bodyIsDamaged === arrival) throw away()
            return { headers: '{}', body: this.bodies.get(arrival) ?? Buffer.alloc(0) }
          },
          finish: async (decided) => {
            if (decided.givenUp !== true) await this.settling(decided.entryId)
            if (this.unclear.has(decided.entryId) && decided.looked !== true) {
              return { result: 'look', entry: null, claims: [], cancelled: [] } as const
            }
            return this.#settle(decided.entryId, decided)
          },
          postpone: async (id, dueAt, lastError) => {
            if (this.storeIsAway) throw away()
            const entry = this.entry(id)
            this.#write({ ...entry, dueAt, tries: entry.tries + 1, lastError })
          },
        },
      },
      runs: { claimCommitted: say, offerStarts: () => noOffers, runsEnded: say },
      acts: {
        routesFor: async () => [],
        actsFor: async (event) => {
          this.#inHand += 1
          this.largestInHand = Math.max(this.largestInHand, this.#inHand)
          try {
            return await this.decide(event)
          } finally {
            this.#inHand -= 1
            this.acted.push(event.webhookId)
          }
        },
        askPull: async (event) => await this.seePull(event),
        failuresFor: (_routes, reason, detail) => {
          const outcome = { type: 'review', result: 'failed', reason, runIds: [] } as const
          return [{ act: 'note', outcome: detail === null ? outcome : { ...outcome, detail } }]
        },
      },
      scheduler: this.timers,
      log,
      metrics: { ...noMetrics, inboxPutOff: (why) => void this.putOff.push(why) },
    })
  }

  /** Stores an entry, which the next look finds. */
  add(id: string, over: Partial<InboxEntry> = {}, body = Buffer.from('{}')): InboxEntry {
    const arrival = this.entries.length + 1
    const entry = { ...anEntry, id, webhookId: id, arrival, lane: id, ...over }
    this.entries.push({ ...entry, receivedAt: this.now, dueAt: this.now })
    this.bodies.set(arrival, brotliCompressSync(body))
    return this.entry(id)
  }

  /** Stores an entry and passes it on, as the webhook endpoint does. */
  take(id: string, over: Partial<InboxEntry> = {}): void {
    this.processor.take(this.add(id, over), readEvent(id, 'pull_request', {}), [])
  }

  entry(id: string): InboxEntry {
    const found = this.entries.find((entry) => entry.id === id)
    if (found === undefined) throw new Error(`there is no ${id}`)
    return found
  }

  states(): readonly string[] {
    return this.entries.map(({ state }) => state)
  }

  /** Two parties per look, and up to 100 entries of each. */
  #due(after: string | null): DueWebhooks {
    if (this.storeIsAway) throw away()
    this.looks += 1
    const waiting = this.entries.filter(({ state }) => state === 'waiting')
    const firsts = waiting.filter(
      ({ lane }, n) => !waiting.slice(0, n).some((one) => one.lane === lane && one.tries === 0),
    )
    const due = firsts.filter(({ dueAt }) => (dueAt ?? 0) <= this.now)
    const all = [...new Set(due.map(repositoryKeyOf))].toSorted()
    const left = all.filter((party) => after === null || party > after)
    const parties = left.slice(0, 2)
    const entries = parties.flatMap((party) =>
      due.filter((entry) => repositoryKeyOf(entry) === party).slice(0, 100),
    )
    const isEnd = left.length <= parties.length
    return { entries, after: isEnd ? null : (parties.at(-1) ?? null), lanesTo: new Map() }
  }

  #settle(id: string, { acts, reason }: { acts: readonly WebhookAct[]; reason: string | null }) {
    if (this.storeIsAway) throw away()
    const entry = this.entry(id)
    if (entry.state !== 'waiting') {
      return { result: 'elsewhere', entry: null, claims: [], cancelled: [] } as const
    }
    const outcomes = acts.flatMap((act) => (act.act === 'note' ? [act.outcome] : []))
    const decision = { ...decisionOf(outcomes), ...(outcomes.length === 0 && { reason }) }
    const after = { ...entry, ...decision, outcomes, dueAt: null, processedAt: this.now }
    this.#write(after)
    return { result: 'finished', entry: after, claims: [], cancelled: [] } as const
  }

  #write(entry: InboxEntry): void {
    this.entries[this.entries.findIndex(({ id }) => id === entry.id)] = entry
  }
}

const anEntry: InboxEntry = {
  arrival: 0,
  id: '',
  webhookId: '',
  event: 'pull_request',
  action: null,
  repo: null,
  repoId: null,
  number: null,
  sender: null,
  lane: '',
  eventAt: null,
  prState: null,
  needsLook: false,
  state: 'waiting',
  decision: 'accepted',
  reason: null,
  outcomes: [],
  duplicateOf: null,
  receivedAt: 0,
  processedAt: null,
  dueAt: 0,
  tries: 0,
  lastError: null,
}

export const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}
export const limited = (until?: number) => new GitHubNotAsked(null, until)
/** GitHub answers that the repository does not exist, or hides it from us. */
export const hidden = () => {
  const asked = { route: 'GET /repositories/{repository_id}', requestId: '1' }
  const facts = { ...asked, status: 404, githubRequestId: null }
  return new GitHubNotAsked(new GitHubError(trouble('not_found'), facts))
}
