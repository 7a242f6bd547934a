/**
 * Reads due entries of table `inbox` repository by repository (column `party`, see
 * `repositoryKeyOf`): a few of each, so that a repository with very many entries does not hide
 * others.
 *
 * What must hold: one call reads no more rows than its limits say. A caller that goes on where the
 * last call ended reaches everything that is due.
 */
import type { InboxEntry } from '../../domain/inbox.ts'
import type { DueRequest, DueWebhooks } from '../../store/inbox-store.ts'
import type { Verb } from '../sql.ts'
import { join, padded, sql } from '../sql.ts'
import { earlierWaits, selectEntries } from './inbox-table.ts'

/** How many repositories one call visits: most of their entries are not due yet. */
export const partiesWalkedMax = 500
/** Of how many repositories entries are read. */
export const partiesReadMax = 32
/** Per repository: how many lanes, and how many entries that were tried before. */
export const lanesMax = 64
const triedMax = 16

export function* dueEntries(now: number, request: DueRequest = {}): Verb<DueWebhooks> {
  const walked = yield* walkParties(request.after ?? '')
  const due = walked.filter(({ firstAt }) => firstAt <= now)
  const read = due.slice(0, partiesReadMax)
  const entries: InboxEntry[] = []
  const lanesTo = new Map<string, string | null>()
  for (const { party } of read) {
    const lanes = yield* untriedLanes(party, request.lanesAfter?.get(party) ?? '')
    const hasMore = lanes.length === lanesMax
    lanesTo.set(party, hasMore ? (lanes.at(-1)?.lane ?? null) : null)
    const firsts = lanes.map(({ arrival }) => arrival)
    entries.push(...(yield* firstsAmong(firsts, now)), ...(yield* triedEntries(party, now)))
  }
  const wasAll = read.length === due.length
  const isEnd = wasAll && walked.length < partiesWalkedMax
  const reached = (wasAll ? walked : read).at(-1)
  return { entries, after: isEnd ? null : (reached?.party ?? null), lanesTo }
}

interface WalkedParty {
  readonly party: string
  readonly firstAt: number
}

/** One index step per repository, however many of its entries wait. */
function* walkParties(after: string): Verb<WalkedParty[]> {
  const rows = yield sql`WITH RECURSIVE walked (party, n) AS (
      SELECT min(party), 1 FROM inbox WHERE due_at IS NOT NULL AND party > ${after}
      UNION ALL
      SELECT (SELECT min(inbox.party) FROM inbox
          WHERE inbox.due_at IS NOT NULL AND inbox.party > walked.party), n + 1
        FROM walked WHERE walked.party IS NOT NULL AND n < ${partiesWalkedMax})
    SELECT walked.party, (SELECT min(inbox.due_at) FROM inbox
        WHERE inbox.due_at IS NOT NULL AND inbox.party = walked.party) AS first_at
      FROM walked WHERE walked.party IS NOT NULL`
  return rows.map((row) => {
    return { party: row['party'] as string, firstAt: Number(row['first_at']) }
  })
}

interface UntriedLane {
  readonly lane: string
  readonly arrival: number
}

/** Each lane with its first untried entry. */
export function* untriedLanes(party: string, after: string): Verb<UntriedLane[]> {
  const rows = yield sql`WITH RECURSIVE walked (lane, n) AS (
      SELECT min(lane), 1 FROM inbox
        WHERE due_at IS NOT NULL AND tries = 0 AND party = ${party} AND lane > ${after}
      UNION ALL
      SELECT (SELECT min(inbox.lane) FROM inbox WHERE inbox.due_at IS NOT NULL
          AND inbox.tries = 0 AND inbox.party = ${party} AND inbox.lane > walked.lane), n + 1
        FROM walked WHERE walked.lane IS NOT NULL AND n < ${lanesMax})
    SELECT walked.lane, (SELECT min(inbox.arrival) FROM inbox WHERE inbox.due_at IS NOT NULL
        AND inbox.tries = 0 AND inbox.party = ${party} AND inbox.lane = walked.lane) AS arrival
      FROM walked WHERE walked.lane IS NOT NULL`
  return rows.map((row) => ({ lane: row['lane'] as string, arrival: Number(row['arrival']) }))
}

function* firstsAmong(arrivals: readonly number[], now: number): Verb<InboxEntry[]> {
  if (arrivals.length === 0) return []
  return yield* selectEntries(sql`arrival IN (${join(padded(arrivals))})
    AND due_at IS NOT NULL AND due_at <= ${now} ORDER BY arrival`)
}

/** An entry behind an untried one of its lane must wait; that is rare. */
export function* triedEntries(party: string, now: number): Verb<InboxEntry[]> {
  return yield* selectEntries(sql`arrival IN (SELECT arrival FROM inbox
      WHERE due_at IS NOT NULL AND tries > 0 AND party = ${party} AND due_at <= ${now}
      ORDER BY due_at LIMIT ${triedMax})
    AND NOT ${earlierWaits} ORDER BY due_at`)
}
