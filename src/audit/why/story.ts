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
import { decisionTypes, isArrival, RowLinks } from './row-links.ts'
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
  'run.github_token_issued',
  'run.head_verified',
  'run.head_unverified',
  'step.in_doubt',
  'step.late',
  'operator.step_confirmed',
  'operator.step_repeated',
  'operator.step_failed',
])
const echoReasons = new Set(['no-trigger', 'own-account'])

export function storyOf(facts: Facts): readonly StoryEntry[] {
  const lines = new StoryLines(facts)
  return [...lines.beginning(), ...joinLines(lines.all()), ...lines.echoes()]
}

class StoryLines {
  readonly #facts: Facts
  readonly #links: RowLinks
  readonly #runs: ReadonlyMap<string, Run>
  /** By GUID. */
  readonly #webhooks: ReadonlyMap<string, InboxEntry>
  /** Ids of webhooks that no run type listens to. */
  readonly #echoIds: ReadonlySet<string>
  readonly #deliveries: ReadonlyMap<string, Delivery>
  /** Ids of the rows of the last unindented line and of the lines under it. */
  readonly #block = new Set<number>()

  constructor(facts: Facts) {
    this.#facts = facts
    this.#links = new RowLinks(facts.rows)
    this.#runs = new Map(facts.runs.map((run) => [run.id, run]))
    this.#webhooks = new Map(facts.webhooks.map((entry) => [entry.webhookId, entry]))
    this.#echoIds = new Set(facts.webhooks.filter(isEcho).map(({ id }) => id))
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
      if (row.runId === null && row.deliveryId == null && !this.#links.isCause(row)) return []
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
    const { subjects, onlyRunId } = this.#facts
    if (inboxId == null || subjects.length === 0 || onlyRunId !== null) return false
    return this.#echoIds.has(inboxId)
  }

  /** An arrival with what it led to, unless a run's row says that. */
  #webhook(row: AuditRow): Line[] {
    if (!this.#belongsToStory(row)) return []
    const isReplay = row.type === 'operator.replay_requested'
    if (isArrival(row) && (isReplay || eventOfRow(row) !== null)) {
      const decision = this.#links.decisionAfter(row)
      if (isReplay) return [this.#line(row, `${this.#which(row)}${this.#words(row)}`)]
      const missed = row.type === 'webhook.caught_up' ? this.#words(row) : null
      const happened = missed ?? eventWords(this.#eventOf(row))
      if (decision === null && row.type !== 'webhook.ignored') {
        const isOpen = !this.#isDecided(row)
        return [
          this.#line(row, isOpen ? `${happened}. Holdfast has not decided on it yet` : happened),
        ]
      }
      // A webhook that started nothing is one line, unless the decision took long.
      const clauses = decision === null ? [] : this.#clauses(decision)
      const isAlone = decision === null || !this.#links.hasRunRows(row)
      if (isAlone && this.#isPrompt(row, decision)) {
        const result = clauses.length === 0 ? nothingWords(decision ?? row) : clauses.join('; ')
        return [this.#line(row, `${happened}: ${result}`)]
      }
      return [this.#line(row, happened)]
    }
    const arrival = this.#links.causeOf(row)
    const isInArrivalLine =
      arrival !== null &&
      arrival.type !== 'operator.replay_requested' &&
      !this.#links.hasRunRows(arrival) &&
      this.#isPrompt(arrival, row)
    if (isInArrivalLine) return []
    const clauses = this.#clauses(row)
    const isSilent = clauses.length === 0 && arrival !== null && this.#links.hasRunRows(arrival)
    if (isSilent) return []
    const texts = clauses.length === 0 ? [nothingWords(row)] : clauses
    return texts.map((text) => this.#line(row, atStart(text)))
  }

  /** Of an arrival whose decision was not read: most rows of older webhooks are not. */
  #isDecided(arrival: AuditRow): boolean {
    const entry = this.#webhooks.get(textOf(arrival, 'webhook_id') ?? '')
    const isWaiting = entry === undefined || entry.state === 'waiting'
    return !isWaiting || this.#links.hasRunRows(arrival)
  }

  #isPrompt(arrival: AuditRow, decision: AuditRow | null): boolean {
    if (decision === null) return true
    return !this.#links.wasPostponed(arrival, decision) && decision.at - arrival.at < 60_000
  }

  /** For each run type without a run's row: what the webhook meant for it. */
  #clauses(decision: AuditRow): string[] {
    if (this.#facts.onlyRunId !== null) return []
    const entry = this.#webhooks.get(textOf(decision, 'webhook_id') ?? '')
    const all = outcomesOf(decision, entry)
    const touched = this.#links.runIdsAfter(this.#links.causeOf(decision))
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
    const arrival = eventOfRow(row) === null ? this.#links.causeOf(row) : row
    return this.#links.hasRunRows(row) || this.#links.hasRunRows(arrival)
  }

  #line(row: AuditRow, text: string, fold: string | null = null): Line {
    const cause = this.#links.causeOf(row)
    const follows = cause !== null && this.#block.has(cause.id) && !unindentedTypes.has(row.type)
    if (!follows) this.#block.clear()
    this.#block.add(row.id)
    return { row, text: atStart(text), depth: follows ? 1 : 0, fold }
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
    const cause = this.#links.causeOf(row)
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
    if (this.#links.causeOf(row) !== null || kind !== 'github' || login === undefined) return ''
    const happened = eventWords({ event: null, action, sender: login })
    const isRemoved = this.#facts.removedWebhooks.has(textOf(row, 'webhook_id') ?? '')
    return `${happened}${isRemoved ? ' (its webhook was removed)' : ''}: `
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
    const cause = this.#links.causeOf(row)
    const isBelow = cause !== null && this.#block.has(cause.id)
    return isBelow ? this.#words(row) : `${this.#which(row)}${this.#words(row)}`
  }

  #which(row: AuditRow): string {
    return this.#links.isOfSeveralWebhooks ? `${eventWords(this.#eventOf(row))}: ` : ''
  }

  #eventOf(row: AuditRow): EventSummary {
    const own = eventOfRow(row)
    if (own !== null && row.type !== 'webhook.duplicate') return own
    const entry = this.#webhooks.get(textOf(row, 'webhook_id') ?? '')
    if (entry !== undefined) return eventOfEntry(entry)
    return this.#links.eventOf(row) ?? { event: 'an event', action: null, sender: null }
  }
}

/** No run type listens to it. */
function isEcho({ state, decision, reason, outcomes }: InboxEntry): boolean {
  if (state !== 'processed' || decision !== 'ignored') return false
  const reasons = outcomes.length === 0 ? [reason] : outcomes.map((outcome) => outcome.reason)
  return reasons.every((one) => echoReasons.has(one ?? ''))
}

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
  /** Of the webhook above. */
  let repeats: Line[] | undefined
  for (const line of lines) {
    const isRepeatedWebhook = line.depth === 1 && line.row.type === 'webhook.duplicate'
    const group = isRepeatedWebhook ? repeats : groups.at(-1)
    const first = group?.[0]
    const isSame = line.fold !== null && first?.fold === line.fold && first.depth === line.depth
    const isRepeat = isSame && first.row.inboxId === line.row.inboxId
    if (group !== undefined && isRepeat) {
      group.push(line)
      continue
    }
    const added = [line]
    groups.push(added)
    if (line.depth === 0) repeats = undefined
    else if (isRepeatedWebhook) repeats ??= added
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
