/**
 * The story: what happened, oldest first, one sentence for each thing that happened. What one
 * commit did is one sentence: a webhook with all it led to, a claim with what it superseded.
 * Repeats are folded into a count.
 */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { InboxEntry, TypeOutcome } from '../../domain/inbox.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import type { Run } from '../../domain/run.ts'
import { sentence } from '../../sentences.ts'
import { claimWords, isClaimReason } from './claim-words.ts'
import type { Happening } from './happening-words.ts'
import { happeningOf, happeningOfRow, happeningWords } from './happening-words.ts'
import { becauseWords } from './intake-words.ts'
import type { Known } from './known.ts'
import { foldOfDelivery, isToldElsewhere } from './delivery-scenes.ts'
import { actorWords, atStart, outside, quoted, runWords, textOf, typeWords } from './plain-words.ts'
import { name, rowWords } from './row-words.ts'

export interface StoryEntry {
  readonly at: number
  readonly text: string
  /** Of the audit row it tells of; `left_out` for what is not told. */
  readonly type: AuditType | 'left_out'
  readonly runId: string | null
  /** GitHub's GUID. */
  readonly webhookId: string | null
}

/** A sentence on its way into the story. */
interface Scene {
  readonly row: AuditRow
  /** The clause that it counts repeats of; null when it is never folded. */
  readonly fold: string | null
  readonly text: string
  readonly runId: string | null
}

const decidedTypes = new Set<AuditType>(['webhook.processed', 'webhook.ignored', 'webhook.failed'])
const claimTypes = new Set<AuditType>([
  'run.claimed',
  'run.reclaimed',
  'run.claim_skipped',
  'run.skipped',
])
/** An arrival that is decided sooner than this is told by its decision alone. */
const promptMs = 60_000

export function tellStory(known: Known): readonly StoryEntry[] {
  const teller = new Teller(known)
  return [...teller.leftOut(), ...fold(teller.scenes())]
}

class Teller {
  readonly #known: Known
  readonly #runs: ReadonlyMap<string, Run>
  readonly #webhooks: ReadonlyMap<string, InboxEntry>
  readonly #deliveries: ReadonlyMap<string, Delivery>
  /** Rows that another row's sentence tells. */
  readonly #told = new Set<AuditRow>()

  constructor(known: Known) {
    this.#known = known
    this.#runs = new Map(known.runs.map((run) => [run.id, run]))
    this.#webhooks = new Map(known.webhooks.map((entry) => [entry.webhookId, entry]))
    const deliveries = [...known.deliveries, ...known.otherDeliveries]
    this.#deliveries = new Map(deliveries.map((delivery) => [delivery.id, delivery]))
  }

  scenes(): Scene[] {
    const { rows } = this.#known
    const decisions = rows.filter((row) => this.#isDecision(row))
    const led = new Map(decisions.map((row) => [row, this.#ledTo(row)]))
    for (const row of [...led.values()].flat()) this.#told.add(row)
    const displaced = new Map(
      rows.filter(({ type }) => claimTypes.has(type)).map((row) => [row, this.#displaced(row)]),
    )
    for (const row of [...displaced.values()].flat()) this.#told.add(row)
    return rows.flatMap((row) => {
      if (this.#told.has(row) || this.#isProvisional(row)) return []
      const deeds = led.get(row)
      if (deeds !== undefined) return this.#decision(row, deeds, displaced)
      const others = displaced.get(row)
      return others === undefined ? this.#single(row) : [this.#claim(row, others)]
    })
  }

  /** Says so when the beginning is not there. */
  leftOut(): StoryEntry[] {
    const { rows, cut, runs, only, stands } = this.#known
    const at = rows[0]?.at
    const note = (text: string, since: number): StoryEntry[] => {
      return [{ at: since, text, type: 'left_out', runId: null, webhookId: null }]
    }
    if (cut && at !== undefined) return note('What happened before this is left out here.', at)
    // Of a webhook, only what it did itself is told: most runs began without it.
    if (stands.length === 0) return []
    const begun = new Set(rows.filter(({ type }) => claimTypes.has(type)).map(({ runId }) => runId))
    const oldest = runs.find(({ id }) => !begun.has(id) && (only === null || only === id))
    if (oldest === undefined) return []
    const text = `How ${runWords(oldest)} began is past its retention and was removed.`
    return note(text, at ?? oldest.createdAt)
  }

  #isDecision(row: AuditRow): boolean {
    return decidedTypes.has(row.type) && !this.#isProvisional(row)
  }

  /** The sender was told so, but its turn to be processed was still to come. */
  #isProvisional(row: AuditRow): boolean {
    if (!decidedTypes.has(row.type) || happeningOfRow(row) === null) return false
    const next = this.#known.rows.find(
      ({ id, inboxId, type }) =>
        id > row.id &&
        inboxId === row.inboxId &&
        (decidedTypes.has(type) || type === 'operator.replay_requested'),
    )
    return next !== undefined && decidedTypes.has(next.type)
  }

  /** What was done in the commit that decided this webhook: its rows come before the decision's. */
  #ledTo(decision: AuditRow): readonly AuditRow[] {
    const guid = this.#guidOf(decision)
    const { rows } = this.#known
    const before = rows.findLast(
      ({ id, type, inboxId }) =>
        id < decision.id && inboxId === decision.inboxId && decidedTypes.has(type),
    )
    return rows.filter(
      (row) =>
        row.runId !== null &&
        row.id < decision.id &&
        row.id > (before?.id ?? 0) &&
        textOf(row, 'webhook_id') === guid,
    )
  }

  /** What a claim superseded, when that is not told by a webhook. */
  #displaced(claim: AuditRow): readonly AuditRow[] {
    const { rows } = this.#known
    const next = rows.find(
      ({ id, type, runId }) => id > claim.id && runId === claim.runId && claimTypes.has(type),
    )
    return rows.filter(
      (row) =>
        row.type === 'run.superseded' &&
        row.id > claim.id &&
        row.id < (next?.id ?? Infinity) &&
        textOf(row, 'by_run_id') === claim.runId,
    )
  }

  #decision(
    row: AuditRow,
    deeds: readonly AuditRow[],
    displaced: ReadonlyMap<AuditRow, readonly AuditRow[]>,
  ): Scene[] {
    const within = new Set(deeds.flatMap((deed) => displaced.get(deed) ?? []))
    const clauses = deeds
      .filter((deed) => !within.has(deed))
      .map((deed) => this.#clause(deed, displaced.get(deed) ?? []))
    if (this.#known.only === null) clauses.push(...this.#outcomes(row, deeds))
    else if (clauses.length === 0) return []
    const happened = happeningWords(this.#happening(row))
    if (clauses.length === 0) return [this.#scene(row, rowText(row, happened))]
    const scene = this.#scene(row, `${happened}: ${clauses.join('; ')}`)
    return [{ ...scene, runId: deeds[0]?.runId ?? null }]
  }

  /** Of the run types for which no run's row tells what it meant. */
  #outcomes(row: AuditRow, deeds: readonly AuditRow[]): string[] {
    const entry = this.#webhooks.get(this.#guidOf(row) ?? '')
    const all = outcomesOf(row, entry)
    const touched = new Set(deeds.map(({ runId }) => runId))
    const untold = all.filter(({ runIds }) => !runIds.some((id) => touched.has(id)))
    const clauses = untold.map((outcome) => {
      const said = outcomeWords(outcome)
      return all.length > 1 ? `${typeWords(outcome)}: ${said}` : said
    })
    return [...new Set(clauses)]
  }

  #claim(row: AuditRow, displaced: readonly AuditRow[]): Scene {
    const clause = this.#clause(row, displaced)
    const isRepeat = row.type === 'run.claim_skipped' && textOf(row, 'reason') === 'duplicate'
    const text = `${this.#claimer(row)}: ${clause}`
    return { ...this.#scene(row, text), fold: isRepeat ? text : null }
  }

  /** Who or what led to a claim. */
  #claimer(row: AuditRow): string {
    const entry = this.#webhooks.get(textOf(row, 'webhook_id') ?? '')
    const action = textOf(row, 'action')
    if (entry !== undefined) return happeningWords(happeningOf(entry))
    const [kind, login] = row.actor.split(':')
    if (kind === 'github' && login !== undefined) {
      return `${happeningWords({ event: null, action, sender: login })} (its webhook was removed)`
    }
    if (row.actor === 'head-check') return 'GitHub was asked which commit is the head'
    if (row.actor === 'operator') return 'The rerun that somebody had asked for followed'
    const who = atStart(actorWords(row.actor))
    const isWish = ['rerun', 'retry', 'returned'].includes(textOf(row, 'reason') ?? '')
    if (isWish && textOf(row, 'webhook_id') === null && action === null) {
      return `${who} asked for it again`
    }
    return action === null ? `${who} asked` : `${who} asked (${outside(action, 60)})`
  }

  #clause(row: AuditRow, displaced: readonly AuditRow[]): string {
    const own = this.#isWishOfWebhook(row)
      ? `${name(row, this.#runOf(row))} is to be done again when this round has ended`
      : rowWords(row, this.#runOf(row))
    if (displaced.length === 0) return own
    const names = displaced.map((old) => {
      const run = this.#runOf(old)
      return run === null ? `run ${old.runId ?? ''}` : runWords(run)
    })
    const were = names.length === 1 ? 'was' : 'were'
    return `${own}; ${names.join(' and ')} ${were} superseded`
  }

  /** Who asked is said by the webhook's own words. */
  #isWishOfWebhook(row: AuditRow): boolean {
    return row.type === 'operator.rerun_requested' && textOf(row, 'webhook_id') !== null
  }

  #single(row: AuditRow): Scene[] {
    const { type } = row
    if (type === 'webhook.received') return this.#arrival(row)
    const delivery = this.#deliveries.get(row.deliveryId ?? '') ?? null
    const text = rowWords(row, this.#runOf(row), delivery)
    if (row.deliveryId != null) {
      if (isToldElsewhere(row, this.#known)) return []
      return [{ ...this.#scene(row, text), fold: foldOfDelivery(row) }]
    }
    if (type === 'run.agent.status_reported') {
      return [{ ...this.#scene(row, text), fold: `${type} ${row.runId ?? ''}` }]
    }
    const isFolded = type === 'webhook.duplicate' || type === 'webhook.postponed'
    const isOfWebhook = isFolded || type === 'operator.replay_requested'
    if (!isOfWebhook) return [this.#scene(row, text)]
    if (!this.#isTold(row)) return []
    const fold = isFolded ? `${type} ${row.inboxId ?? ''}` : null
    return [{ ...this.#scene(row, `${this.#which(row)}${text}`), fold }]
  }

  /** Of one run, what became of the webhooks that claimed it. */
  #isTold({ inboxId }: AuditRow): boolean {
    const { only, rows, webhooks } = this.#known
    if (only === null) return true
    const guids = webhooks.flatMap(({ id, webhookId }) => (id === inboxId ? [webhookId] : []))
    return rows.some(
      (row) => claimTypes.has(row.type) && guids.includes(textOf(row, 'webhook_id') ?? ''),
    )
  }

  /** Told only where its decision was long in coming, or has not come. */
  #arrival(row: AuditRow): Scene[] {
    if (this.#known.only !== null) return []
    const decision = this.#known.rows.find(
      ({ id, inboxId, type }) => id > row.id && inboxId === row.inboxId && decidedTypes.has(type),
    )
    const isPrompt = decision !== undefined && decision.at - row.at < promptMs
    return isPrompt ? [] : [this.#scene(row, rowWords(row, null))]
  }

  /** Names the webhook, where the story tells of several. */
  #which(row: AuditRow): string {
    const several = new Set(this.#known.rows.flatMap(({ inboxId }) => inboxId ?? [])).size > 1
    return several ? `${happeningWords(this.#happening(row))}: ` : ''
  }

  #scene(row: AuditRow, text: string): Scene {
    return { row, text, fold: null, runId: row.runId }
  }

  #happening(row: AuditRow): Happening {
    const told = happeningOfRow(row)
    if (told !== null) return told
    const entry = this.#webhooks.get(this.#guidOf(row) ?? '')
    if (entry !== undefined) return happeningOf(entry)
    const arrival = this.#known.rows.find(
      (other) => other.inboxId === row.inboxId && happeningOfRow(other) !== null,
    )
    const arrived = arrival === undefined ? null : happeningOfRow(arrival)
    return arrived ?? { event: 'an event', action: null, sender: null }
  }

  #guidOf(row: AuditRow): string | null {
    return textOf(row, 'webhook_id')
  }

  #runOf(row: AuditRow): Run | null {
    return this.#runs.get(row.runId ?? '') ?? null
  }
}

function rowText(row: AuditRow, happened: string): string {
  const reason = textOf(row, 'reason')
  if (reason === null) return `${happened}: nothing had to be done`
  const told = row.type === 'webhook.failed' ? 'it could not be decided' : 'nothing was started'
  return `${happened}: ${told}, because ${becauseWords({ reason, result: null })}`
}

/** As the entry has them, with their details, while it still tells of this decision. */
function outcomesOf(row: AuditRow, entry: InboxEntry | undefined): readonly TypeOutcome[] {
  const told = row.data['outcomes']
  if (!Array.isArray(told)) return entry?.processedAt === row.at ? entry.outcomes : []
  return told.map((one: Readonly<Record<string, unknown>>, i): TypeOutcome => {
    const same = entry?.outcomes[i]
    const type = String(one['type'])
    const reason = String(one['reason'])
    const isSame = same?.type === type && same.reason === reason
    return {
      type,
      reason,
      result: one['result'] as TypeOutcome['result'],
      runIds: Array.isArray(one['run_ids']) ? (one['run_ids'] as string[]) : [],
      ...(isSame && same.detail !== undefined && { detail: same.detail }),
    }
  })
}

/** What an event meant for a run type, when no run's own audit tells it. */
export function outcomeWords(outcome: TypeOutcome): string {
  const { result, reason, runIds } = outcome
  const type = typeWords(outcome)
  if (result === 'claimed') {
    const what = runIds[0] === undefined ? `the ${type} run` : `${type} run ${runIds[0]}`
    const about = { what, key: 'it', round: 1, attempt: 1, left: null, said: null }
    const known = isClaimReason(reason) && !['rerun', 'retry', 'returned'].includes(reason)
    return known ? claimWords[reason](about) : `${what} was decided on (${outside(reason)})`
  }
  if (result === 'cancelled') return `${runIds.join(', ')} cancelled, because it is closed`
  if (result === 'failed') return `it could not be decided, because ${becauseWords(outcome)}`
  if (result === 'skipped' && reason !== 'filtered') {
    return `nothing was started, because the rule (when) of ${type} said ${quoted(reason)}`
  }
  return `nothing was started, because ${becauseWords(outcome)}`
}

/** Repeats become one, at the time of the last: a claim's only where nothing else came between. */
function fold(scenes: readonly Scene[]): StoryEntry[] {
  const groups: Scene[][] = []
  for (const scene of scenes) {
    const isSame = ([first]: readonly Scene[]): boolean =>
      scene.fold !== null && first?.fold === scene.fold
    const { inboxId, deliveryId } = scene.row
    const candidates = inboxId == null && deliveryId == null ? groups.slice(-1) : groups
    const group = candidates.find(isSame)
    if (group === undefined) groups.push([scene])
    else group.push(scene)
  }
  return groups.map(entryOf).toSorted((a, b) => a.at - b.at)
}

function entryOf(group: readonly Scene[]): StoryEntry {
  const last = group.at(-1)
  if (last === undefined) throw new Error('a group has at least one')
  const { row, runId } = last
  const times = group.length
  const text = times === 1 ? last.text : withCount(last.text, times)
  const webhookId = textOf(row, 'webhook_id')
  return { at: row.at, text: sentence(atStart(text)), type: row.type, runId, webhookId }
}

function withCount(text: string, times: number): string {
  if (/ reported of /.test(text)) return `${text} (the last of ${times} reports)`
  // Each was another version: said as times, it would read like one thing sent twice.
  if (/ was sent as /.test(text)) return `${text} (the last of ${times} versions)`
  const counted = text.replace(
    /\b(sent this event again|could not be decided)\b( yet)?/,
    (said) => {
      return `${said.replace(' yet', '')} ${times} times`
    },
  )
  return counted === text ? `${text} (${times} times)` : counted
}
