/**
 * An inbox entry: a webhook, stored before it is answered, and what became of it.
 *
 *   received ──▶ waiting ──▶ processed      decided, and what it led to is done in the same commit
 *                  ▲  └────▶ failed         a run type's own rule broke on it; the others are done
 *                  └─ replay ──┘
 *
 * One that nothing listens to is processed at once. `decision` is what the sender was told, or what
 * turned out later: accepted, ignored (with the reason) or a duplicate of an event known before.
 */

export const inboxStates = ['waiting', 'processed', 'failed'] as const
export type InboxState = (typeof inboxStates)[number]

export const inboxDecisions = ['accepted', 'ignored', 'duplicate'] as const
export type InboxDecision = (typeof inboxDecisions)[number]

/** What an event meant for one run type. */
export interface TypeOutcome {
  readonly type: string
  /**
   * `claimed`: the claim was decided, with its own reason. `cancelled`: active runs were ended.
   * `skipped`: its `when` said no. `ignored`: it does not count for this type. `failed`: its rule
   * broke.
   */
  readonly result: 'claimed' | 'cancelled' | 'skipped' | 'ignored' | 'failed'
  readonly reason: string
  readonly runIds: readonly string[]
  readonly detail?: string
}

/** A pull request's head, as an event named it. */
export interface HeardHead {
  /** When it was the head, by GitHub's clock. */
  readonly at: number
  readonly headSha: string
  /**
   * `event`: made the head by that event, at that time. `look`: seen as the head when GitHub was
   * asked. `mention`: an event about something else carried it.
   */
  readonly by: 'event' | 'look' | 'mention'
}

export interface InboxEntry {
  /** The order in which they came. */
  readonly arrival: number
  readonly id: string
  /** GitHub's GUID of the event. */
  readonly webhookId: string
  readonly event: string
  readonly action: string | null
  readonly repo: string | null
  readonly repoId: number | null
  /** Of the pull request or issue. */
  readonly number: number | null
  readonly sender: string | null
  /** Entries of one lane are processed one after the other, in the order in which they came. */
  readonly lane: string
  /** When it happened, by GitHub's clock. */
  readonly eventAt: number | null
  readonly prState: 'open' | 'closed' | null
  /**
   * Its like came before, and other events of its pull request since: whether it is a repeat, or
   * the same happened again within a second, only GitHub can tell.
   */
  readonly needsLook: boolean
  readonly state: InboxState
  readonly decision: InboxDecision
  readonly reason: string | null
  readonly outcomes: readonly TypeOutcome[]
  /** The entry that brought this event first, under another GUID. */
  readonly duplicateOf: string | null
  readonly receivedAt: number
  readonly processedAt: number | null
  /** When it has to be looked at; null when it is not waiting. */
  readonly dueAt: number | null
  readonly tries: number
  readonly lastError: string | null
}

/** Whose it is: one party's entries may not keep another's from being processed. */
export function repositoryKeyOf({
  repoId,
  repo,
  lane,
}: Pick<InboxEntry, 'repoId' | 'repo' | 'lane'>) {
  return String(repoId ?? repo ?? lane)
}

export function runIdsOf(outcomes: readonly TypeOutcome[]): readonly string[] {
  return [...new Set(outcomes.flatMap(({ runIds }) => runIds))]
}

/** What the whole entry is called, given what it meant for each type. */
export function decisionOf(outcomes: readonly TypeOutcome[]): {
  readonly state: 'processed' | 'failed'
  readonly decision: 'accepted' | 'ignored'
  readonly reason: string | null
} {
  const failed = outcomes.find(({ result }) => result === 'failed')
  const acted = outcomes.some(({ result }) => result === 'claimed' || result === 'cancelled')
  const reason = (failed ?? outcomes[0])?.reason ?? null
  if (failed !== undefined) return { state: 'failed', decision: 'accepted', reason }
  if (acted) return { state: 'processed', decision: 'accepted', reason: null }
  return { state: 'processed', decision: 'ignored', reason }
}
