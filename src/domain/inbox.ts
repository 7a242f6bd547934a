/**
 * An inbox entry: a webhook that was stored before it was answered, and its outcome.
 *
 *   received ──▶ waiting ──▶ processed      decided, and done in the same commit
 *                  ▲  └────▶ failed         a type's rule threw; the other types are done
 *                  └─ replay ──┘
 *
 * An event that no type listens to is processed at once. `decision` is the answer to the sender, or
 * what was decided later: accepted, ignored (with a reason) or a duplicate of a known event.
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
   * `skipped`: its `when` rule refused. `ignored`: the event does not matter to this type.
   * `failed`: its rule threw an error.
   */
  readonly result: 'claimed' | 'cancelled' | 'skipped' | 'ignored' | 'failed'
  readonly reason: string
  readonly runIds: readonly string[]
  readonly detail?: string
}

/** A pull request's head, as an event named it. */
export interface EventHead {
  /** When it was the head, by GitHub's clock. */
  readonly at: number
  readonly headSha: string
  /**
   * `event`: that event made it the head, at that time. `look`: GitHub named it when asked.
   * `mention`: an event about something else contains it.
   */
  readonly by: 'event' | 'look' | 'mention'
}

export interface InboxEntry {
  /** The order of arrival. */
  readonly arrival: number
  readonly id: string
  /** GitHub's GUID of the event. */
  readonly webhookId: string
  readonly event: string
  readonly action: string | null
  readonly repo: string | null
  readonly repoId: number | null
  /** The number of the pull request or issue. */
  readonly number: number | null
  readonly sender: string | null
  /** Entries of one lane are processed one after the other, in the order of arrival. */
  readonly lane: string
  /** When it happened, by GitHub's clock. */
  readonly eventAt: number | null
  readonly prState: 'open' | 'closed' | null
  /**
   * An equal event came before, and other events of the pull request came in between. It may be a
   * repeat, or the same thing happened twice within a second. Only GitHub knows.
   */
  readonly needsLook: boolean
  readonly state: InboxState
  readonly decision: InboxDecision
  readonly reason: string | null
  readonly outcomes: readonly TypeOutcome[]
  /** The first entry of this event, which has another GUID. */
  readonly duplicateOf: string | null
  readonly receivedAt: number
  readonly processedAt: number | null
  /** When it is to be processed; null when it is not waiting. */
  readonly dueAt: number | null
  readonly tries: number
  readonly lastError: string | null
}

/** Groups entries by repository, so that one repository cannot delay the entries of others. */
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

/** The decision for the whole entry, from the outcomes of its types. */
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
