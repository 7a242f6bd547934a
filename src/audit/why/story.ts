/**
 * The story: what happened, cause before effect, one line per event. A line that follows from the
 * line above is indented: what a webhook started, what a claim superseded, what was published
 * because of it.
 *
 * Rows are ordered by id, and a cause always has a smaller id (domain/audit). Repeats become one
 * line with a count if nothing happened between them, or if they are of one webhook. Webhooks that
 * no run type listens to (echoes, such as those of Holdfast's own comments) are counted at the end.
 */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { InboxEntry, TypeOutcome } from '../../domain/inbox.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import type { Run } from '../../domain/run.ts'
import { sentence } from '../../texts/sentences.ts'
import { isLeftOut, publishedTypes } from './delivery-words.ts'
import type { Facts } from './facts.ts'
import { actorWords, atStart, counted, cleanText, runWords, textOf, typeWords } from './names.ts'
import { claimDefaults, claimWords, isClaimReason, rowWords } from './row-words.ts'
import type { EventSummary } from './webhook-words.ts'
import {
  becauseWords,
  eventOfEntry,
  eventOfRow,
  eventWords,
  nothingWords,
  outcomesOf,
} from './webhook-words.ts'

export interface StoryEntry {
  readonly at: number
  readonly text: string
  /** 1 if it follows from the last entry with 0 before it. */
  readonly depth: 0 | 1
  /** The type of its audit row; `left_out` for a line about what is not shown. */
  readonly type: AuditType | 'left_out'
  readonly runId: string | null
  /** GitHub's GUID. */
  readonly webhookId: string | null
}

interface Line {
  readonly row: AuditRow
  readonly text: string
  readonly depth: 0 | 1
  /** Neighbouring lines with the same value become one line. */
  readonly fold: string | null
}

const arrivalTypes = new Set<AuditType>([
  'webhook.received',
  'webhook.caught_up',
  'webhook.ignored',
  'operator.replay_requested',
])
const decisionTypes = new Set<AuditType>(['webhook.processed', 'webhook.ignored', 'webhook.failed'])
const claimTypes = new Set<AuditType>([
  'run.claimed',
  'run.reclaimed',
  'run.claim_skipped',
  'run.skipped',
])
/** What people and programs do. Such a line is never indented, whatever its cause. */
const unindentedTypes = new Set<AuditType>([
  'run.leased',
  'run.released',
  'run.heartbeat_lost',
  'run.succeeded',
  'run.failed',
  'run.agent.status_reported',
  'run.head_verified',
  'run.head_unverified',
])
const echoReasons = new Set(['no-trigger', 'own-account'])

export function storyOf(facts: Facts): readonly StoryEntry[] {
  const lines = new StoryLines(facts)
  return [...lines.beginning(), ...joinLines(lines.all()), ...lines.echoes()]
}

class StoryLines {
  readonly #facts: Facts
  readonly #rows: ReadonlyMap<number, AuditRow>
  readonly #runs: ReadonlyMap<string, Run>
  readonly #webhooks: ReadonlyMap<string, InboxEntry>
  readonly #arrivals: ReadonlyMap<string, AuditRow>
  readonly #deliveries: ReadonlyMap<string, Delivery>
  /** Ids of the rows of the last unindented line and of the lines under it. */
  readonly #block = new Set<number>()

  constructor(facts: Facts) {
    this.#facts = facts
    this.#rows = new Map(facts.rows.map((row) => [row.id, row]))
    this.#runs = new Map(facts.runs.map((run) => [run.id, run]))
    this.#webhooks = new Map(facts.webhooks.map((entry) => [entry.webhookId, entry]))
    const first = facts.rows.filter((row) => eventOfRow(row) !== null && isArrival(row))
    this.#arrivals = new Map(
      first.toReversed().map((row) => [textOf(row, 'webhook_id') ?? '', row]),
    )
    const deliveries = [...facts.deliveries, ...facts.otherDeliveries]
    this.#deliveries = new Map(deliveries.map((delivery) => [delivery.id, delivery]))
  }

  all(): Line[] {
    return this.#facts.rows.flatMap((row) => {
      if (this.#isEcho(row)) return []
      if (isArrival(row) || decisionTypes.has(row.type)) return this.#webhook(row)
      if (row.type === 'webhook.duplicate' || row.type === 'webhook.postponed') {
        return this.#belongsToStory(row) ? [this.#line(row, this.#ofWebhook(row), row.type)] : []
      }
      if (isLeftOut(row, this.#facts.isOfOneDelivery)) return []
      if (row.runId === null && row.deliveryId == null && !this.#isCause(row)) return []
      return [this.#line(row, this.#words(row), this.#foldOf(row))]
    })
  }

  /** A line that says so if the beginning is missing. */
  beginning(): StoryEntry[] {
    const { rows, cut, runs, onlyRunId, subjects } = this.#facts
    const at = rows[0]?.at
    if (cut && at !== undefined) return [leftOut('What happened before this is left out.', at)]
    // The story of a webhook has only what the webhook did. Most runs began without it.
    if (subjects.length === 0) return []
    const begun = new Set(rows.filter(({ type }) => claimTypes.has(type)).map(({ runId }) => runId))
    const oldest = runs.find(({ id }) => !begun.has(id) && (onlyRunId === null || onlyRunId === id))
    if (oldest === undefined) return []
    const text = `How ${runWords(oldest)} began was removed: it is past its retention.`
    return [leftOut(text, at ?? oldest.createdAt)]
  }

  /** How many webhooks are left out, because no run type listens to them. */
  echoes(): StoryEntry[] {
    const echoes = this.#facts.rows.filter((row) => isArrival(row) && this.#isEcho(row))
    const last = echoes.at(-1)
    if (last === undefined) return []
    const webhooks = counted(echoes.length, 'webhook')
    const text = `Left out: ${webhooks} that no run type listens to (holdfast inbox list).`
    return [leftOut(text, last.at)]
  }

  /** No run type listens to it, and the story has something else. */
  #isEcho({ inboxId }: AuditRow): boolean {
    const { subjects, onlyRunId, webhooks } = this.#facts
    if (inboxId == null || subjects.length === 0 || onlyRunId !== null) return false
    const entry = webhooks.find(({ id }) => id === inboxId)
    if (entry?.state !== 'processed' || entry.decision !== 'ignored') return false
    const reasons = entry.outcomes.map(({ reason }) => reason)
    return (reasons.length === 0 ? [entry.reason] : reasons).every((reason) => {
      return echoReasons.has(reason ?? '')
    })
  }

  /** An arrival with what it led to, unless a run's row says that. */
  #webhook(row: AuditRow): Line[] {
    if (!this.#belongsToStory(row)) return []
    const isReplay = row.type === 'operator.replay_requested'
    if (isArrival(row) && (isReplay || eventOfRow(row) !== null)) {
      const decision = this.#decisionOf(row)
      if (isReplay) return [this.#line(row, `${this.#which(row)}${this.#words(row)}`)]
      const missed = row.type === 'webhook.caught_up' ? this.#words(row) : null
      const happened = missed ?? eventWords(this.#eventOf(row))
      if (decision === null && row.type !== 'webhook.ignored') {
        return [this.#line(row, `${happened}. Holdfast has not decided on it yet`)]
      }
      // A webhook that started nothing is one line, unless the decision took long.
      const clauses = decision === null ? [] : this.#clauses(decision)
      const isAlone = decision === null || !this.#hasRunRows(row)
      if (isAlone && this.#isPrompt(row, decision)) {
        const result = clauses.length === 0 ? nothingWords(decision ?? row) : clauses.join('; ')
        return [this.#line(row, `${happened}: ${result}`)]
      }
      return [this.#line(row, happened)]
    }
    const arrival = this.#causeOf(row)
    const isInArrivalLine =
      arrival !== null &&
      arrival.type !== 'operator.replay_requested' &&
      !this.#hasRunRows(arrival) &&
      this.#isPrompt(arrival, row)
    if (isInArrivalLine) return []
    const clauses = this.#clauses(row)
    const isSilent = clauses.length === 0 && arrival !== null && this.#hasRunRows(arrival)
    if (isSilent) return []
    const texts = clauses.length === 0 ? [nothingWords(row)] : clauses
    return texts.map((text) => this.#line(row, atStart(text)))
  }

  #isPrompt(arrival: AuditRow, decision: AuditRow | null): boolean {
    if (decision === null) return true
    const between = this.#facts.rows.some(({ id, type, causeId }) => {
      return type === 'webhook.postponed' && causeId === arrival.id && id < decision.id
    })
    return !between && decision.at - arrival.at < 60_000
  }

  /** Whether a run's own row says what it led to. */
  #hasRunRows(arrival: AuditRow): boolean {
    return this.#facts.rows.some((row) => row.runId !== null && this.#causeOf(row) === arrival)
  }

  #decisionOf(arrival: AuditRow): AuditRow | null {
    const { rows } = this.#facts
    const own = rows.find((row) => {
      return row.id > arrival.id && decisionTypes.has(row.type) && row.inboxId === arrival.inboxId
    })
    return own ?? null
  }

  /** For each run type without a run's row: what the webhook meant for it. */
  #clauses(decision: AuditRow): string[] {
    if (this.#facts.onlyRunId !== null) return []
    const entry = this.#webhooks.get(textOf(decision, 'webhook_id') ?? '')
    const all = outcomesOf(decision, entry)
    const arrival = this.#causeOf(decision)
    const touched = new Set(
      this.#facts.rows.filter((row) => this.#causeOf(row) === arrival).map(({ runId }) => runId),
    )
    const unmentioned = all.filter(({ runIds }) => !runIds.some((id) => touched.has(id)))
    const clauses = unmentioned.map((outcome) => {
      const words = outcomeWords(outcome)
      return all.length > 1 ? `${typeWords(outcome)}: ${words}` : words
    })
    return [...new Set(clauses)]
  }

  /** The story of one run has only the webhooks that did something to it. */
  #belongsToStory(row: AuditRow): boolean {
    if (this.#facts.onlyRunId === null) return true
    const arrival = eventOfRow(row) === null ? this.#causeOf(row) : row
    const ids = [row.id, arrival?.id]
    return this.#facts.rows.some((one) => {
      return one.runId !== null && ids.includes(this.#causeOf(one)?.id)
    })
  }

  /** Whether it led to another row of the story. */
  #isCause({ id }: AuditRow): boolean {
    return this.#facts.rows.some(({ causeId }) => causeId === id)
  }

  #line(row: AuditRow, text: string, fold: string | null = null): Line {
    const cause = this.#causeOf(row)
    const follows = cause !== null && this.#block.has(cause.id) && !unindentedTypes.has(row.type)
    if (!follows) this.#block.clear()
    this.#block.add(row.id)
    return { row, text: atStart(text), depth: follows ? 1 : 0, fold }
  }

  /**
   * The row that led to it. If the row has no cause but names a webhook, that webhook's arrival.
   */
  #causeOf({ id, causeId, inboxId, ...row }: AuditRow): AuditRow | null {
    if (causeId !== null) return this.#rows.get(causeId) ?? null
    if (row.type.startsWith('operator.')) return null
    if (eventOfRow({ id, causeId, ...row }) !== null) return null
    const guid = textOf({ id, causeId, ...row }, 'webhook_id')
    const arrival = guid === null ? undefined : this.#arrivals.get(guid)
    return arrival === undefined || arrival.id >= id ? null : arrival
  }

  #words(row: AuditRow): string {
    const delivery = this.#deliveries.get(row.deliveryId ?? '') ?? null
    const run = this.#runs.get(row.runId ?? '') ?? null
    const text = rowWords(row, { run, delivery, who: this.#whoDid(row) })
    const isClaim = claimTypes.has(row.type)
    return isClaim ? `${this.#claimer(row)}${text}` : text
  }

  /** Returns null if the webhook above says so. */
  #whoDid(row: AuditRow): string | null {
    const { tokenNames } = this.#facts
    const cause = this.#causeOf(row)
    const isByWebhook = cause !== null && isArrival(cause)
    if (isByWebhook || row.actor.startsWith('github:')) return null
    if (claimTypes.has(row.type) && ['operator', 'head-check'].includes(row.actor)) return null
    if (!row.actor.startsWith('run:')) return actorWords(row.actor, tokenNames)
    // The row of the lease names the holder.
    if (cause === null) return actorWords(row.actor, tokenNames)
    const worker = textOf(cause, 'worker')
    return worker === null ? actorWords(cause.actor, tokenNames) : `worker ${cleanText(worker, 60)}`
  }

  /** What led to a claim, if no line above says so. */
  #claimer(row: AuditRow): string {
    const action = textOf(row, 'action')
    const [kind, login] = row.actor.split(':')
    if (row.actor === 'head-check') return 'GitHub named its newest commit. '
    if (this.#causeOf(row) !== null || kind !== 'github' || login === undefined) return ''
    const happened = eventWords({ event: null, action, sender: login })
    return `${happened} (its webhook was removed): `
  }

  #foldOf(row: AuditRow): string | null {
    if (publishedTypes.has(row.type)) return 'published'
    if (row.type === 'run.claim_skipped') return `${row.runId ?? ''} ${this.#words(row)}`
    if (row.type === 'delivery.retry_scheduled') {
      return `${row.type} ${row.deliveryId ?? ''} ${textOf(row, 'text') ?? ''}`
    }
    if (row.type === 'delivery.target_taken') return `${row.type} ${row.deliveryId ?? ''}`
    return null
  }

  /** Names the webhook, unless it is the one above. */
  #ofWebhook(row: AuditRow): string {
    const cause = this.#causeOf(row)
    const isBelow = cause !== null && this.#block.has(cause.id)
    return isBelow ? this.#words(row) : `${this.#which(row)}${this.#words(row)}`
  }

  #which(row: AuditRow): string {
    const several = new Set(this.#facts.rows.flatMap(({ inboxId }) => inboxId ?? [])).size > 1
    return several ? `${eventWords(this.#eventOf(row))}: ` : ''
  }

  #eventOf(row: AuditRow): EventSummary {
    const own = eventOfRow(row)
    if (own !== null && row.type !== 'webhook.duplicate') return own
    const entry = this.#webhooks.get(textOf(row, 'webhook_id') ?? '')
    const arrival = this.#facts.rows.find(
      (other) => other.inboxId === row.inboxId && eventOfRow(other) !== null,
    )
    const arrived = arrival === undefined ? null : eventOfRow(arrival)
    if (entry !== undefined) return eventOfEntry(entry)
    return arrived ?? { event: 'an event', action: null, sender: null }
  }
}

/** The arrival or replay of a webhook, but not the decision on it. */
const isArrival = (row: AuditRow): boolean =>
  arrivalTypes.has(row.type) && (row.type !== 'webhook.ignored' || eventOfRow(row) !== null)

const leftOut = (text: string, at: number): StoryEntry => {
  return { at, text, depth: 0, type: 'left_out', runId: null, webhookId: null }
}

/** What an event meant for a run type, if no run's own audit says it. */
export function outcomeWords(outcome: TypeOutcome): string {
  const { result, reason, runIds } = outcome
  const type = typeWords(outcome)
  if (result === 'claimed') {
    const what = runIds[0] === undefined ? `the ${type} run` : `${type} run ${runIds[0]}`
    const about = { ...claimDefaults, what, key: 'it' }
    const hasWords = isClaimReason(reason) && !['rerun', 'retry', 'returned'].includes(reason)
    return hasWords ? claimWords[reason](about) : `${what} was decided on (${cleanText(reason)})`
  }
  if (result === 'cancelled') {
    return `${runIds.join(', ')} cancelled, because the pull request was closed`
  }
  if (result === 'failed') return `it could not be decided, because ${becauseWords(outcome)}`
  return `nothing was started, because ${becauseWords(outcome)}`
}

/**
 * Neighbouring lines with the same text become one with a count, and published outputs become a
 * list. Repeats of a webhook are one line under it, whatever was published in between.
 */
function joinLines(lines: readonly Line[]): StoryEntry[] {
  const groups: Line[][] = []
  for (const line of lines) {
    const isRepeatedWebhook = line.depth === 1 && line.row.type === 'webhook.duplicate'
    const block = groups.slice(groups.findLastIndex(([first]) => first?.depth === 0) + 1)
    const group = isRepeatedWebhook
      ? block.find(([first]) => first?.row.type === 'webhook.duplicate')
      : groups.at(-1)
    const first = group?.[0]
    const isSame = line.fold !== null && first?.fold === line.fold && first.depth === line.depth
    const isRepeat = isSame && first.row.inboxId === line.row.inboxId
    if (group !== undefined && isRepeat) group.push(line)
    else groups.push([line])
  }
  return groups.map(entryOf)
}

function entryOf(group: readonly Line[]): StoryEntry {
  const [first] = group
  if (first === undefined) throw new Error('a group has at least one')
  const { row, depth, fold } = first
  const last = group.at(-1) ?? first
  const text = fold === 'published' ? publishedWords(group) : withCount(last.text, group.length)
  const webhookId = textOf(row, 'webhook_id')
  return { at: row.at, text: sentence(text), depth, type: row.type, runId: row.runId, webhookId }
}

/** Each output once, with its last state. */
function publishedWords(group: readonly Line[]): string {
  const texts = group.map(({ text }) => `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`)
  // Sorted by name, so the order does not depend on when they were sent.
  const nameOf = (text: string): string => text.replace(/(: | created| updated).*$/, '')
  const sorted = texts.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b), 'en'))
  return `On GitHub: ${[...new Set(sorted)].join('; ')}`
}

function withCount(text: string, times: number): string {
  if (times === 1) return text
  const inside = text.replace(/\bsent this event again\b/, (found) => `${found} ${times} times`)
  return inside === text ? `${text} (${times} times)` : inside
}
