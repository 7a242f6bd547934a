/**
 * What GitHub shows of a run now, and what it does not show yet: what each delivery waits for and
 * until when, what is in doubt and what follows, what failed. Deliveries with the same state share
 * a sentence.
 */
import { execActor } from '../../domain/audit.ts'
import type { Budget } from '../../domain/outbox/budget.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import { isOpen, waitOf } from '../../domain/outbox/delivery.ts'
import { identityOfQueue } from '../../domain/outbox/queue.ts'
import { lastDeadlineOf } from '../../domain/outbox/schedule.ts'
import { isServedRecently } from '../../domain/served.ts'
import {
  afterCheck,
  errorOfWait,
  failedBecause,
  skippedBecause,
  waitWords,
} from '../delivery-reasons.ts'
import { deliveryName, lastSeen, stateShown } from './delivery-words.ts'
import type { Facts } from './facts.ts'
import { atStart, cleanText, timeWords } from './names.ts'

/** Sentences without their full stops. */
export function shownWords(facts: Facts): string[] {
  const shown = facts.deliveries.filter((delivery) => isShown(delivery, facts))
  const others = facts.deliveries.filter((delivery) => !isShown(delivery, facts))
  const names = shown.map(shownName)
  return [
    ...(isNeverServed(facts) ? [`GitHub shows nothing of it: ${neverServedWords(facts)}`] : []),
    ...(names.length === 0 ? [] : [`GitHub shows ${joinNames(names)}`]),
    ...joinStates(others.map((delivery) => stateOf(delivery, facts))),
  ]
}

const isShown = (delivery: Delivery, { rows }: Facts): boolean =>
  delivery.status === 'SENT' && lastSeen(delivery, rows) === 'shown'

/** With its state and address: `the commit status acme/review on 9c1185a (pending)` */
function shownName(delivery: Delivery): string {
  const { providerUrl } = delivery
  const state = stateShown(delivery)
  const address = providerUrl === null ? null : cleanText(providerUrl, 300)
  const more = [state, address].filter((part) => part !== null)
  const name = deliveryName(delivery)
  return more.length === 0 ? name : `${name} (${more.join(', ')})`
}

/** Of one delivery, without the full stop. */
export function deliveryState(delivery: Delivery, facts: Facts): string {
  const [words = ''] = joinStates([stateOf(delivery, facts)])
  return words
}

interface State {
  readonly name: string
  /** The words after one name, and after several. */
  readonly is: string
  readonly are: string
  readonly then: string
}

function stateOf(delivery: Delivery, facts: Facts): State {
  const name = deliveryName(delivery)
  switch (delivery.status) {
    case 'SENT': {
      const seen = lastSeen(delivery, facts.rows)
      const full = shownName(delivery)
      if (seen === 'shown') {
        return { name: full, is: 'is shown on GitHub', are: 'are shown on GitHub', then: '' }
      }
      return { name: full, is: seenWords[seen], are: seenWords[seen], then: '' }
    }
    case 'FAILED': {
      const then = `: ${failedBecause(delivery.reason, delivery.errorText)}`
      return { name, is: 'failed', are: 'failed', then }
    }
    case 'SKIPPED': {
      const then = `: ${skippedBecause(delivery.reason)}`
      return { name, is: 'was skipped', are: 'were skipped', then }
    }
    case 'PENDING': {
      const then = `: ${openWords(delivery, facts)}`
      return delivery.providerId === null
        ? { name, is: 'is not on GitHub yet', are: 'are not on GitHub yet', then }
        : { name, is: 'is not up to date on GitHub', are: 'are not up to date on GitHub', then }
    }
  }
}

/** Joins those with the same state: `The comment and the commit status are …` */
function joinStates(states: readonly State[]): string[] {
  const groups = new Map<string, State[]>()
  for (const state of states) {
    // A sent one names its own address, so it cannot be joined.
    const key = state.then === '' ? state.name : `${state.is}${state.then}`
    groups.set(key, [...(groups.get(key) ?? []), state])
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const names = atStart(joinNames(group.map(({ name }) => name)))
    return [`${names} ${group.length === 1 ? first.is : first.are}${first.then}`]
  })
}

/** `a, b and c` */
export function joinNames(names: readonly string[]): string {
  const last = names.at(-1) ?? ''
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`
}

/** The words after its name. Holdfast does nothing more about either. */
const seenWords = {
  other:
    'was sent, but GitHub does not show it like that: it was changed or removed there, and ' +
    'Holdfast leaves it as it is',
  unknown:
    'was sent, but could not be checked in time: it is not known whether GitHub still shows it',
} as const

/** Readers wonder why something is still sent for a run that was superseded or cancelled. */
function openWords(delivery: Delivery, facts: Facts): string {
  const words = waitText(delivery, facts)
  const run = facts.runs.find(({ id }) => id === delivery.runId)
  if (delivery.kind !== 'message' || isHeld(delivery)) return words
  if (run?.state !== 'superseded' && run?.state !== 'cancelled') return words
  if (delivery.createdAt > (run.finishedAt ?? 0)) return words
  return `${words}. Published before its run was ${run.state}, so still sent`
}

/** Only people end this wait. */
export const isHeld = (delivery: Delivery): boolean => isOpen(delivery) && delivery.wait === 'held'

function waitText(delivery: Delivery, facts: Facts): string {
  const { now, servedAt } = facts
  const { dueAt, errorText, tries, protocol } = delivery
  const wait = waitOf(delivery, now) ?? 'due'
  if (wait === 'due' && !isServedRecently(servedAt, now)) {
    return noServerWords(facts)
  }
  return waitWords[wait]({
    error: errorOfWait(wait, errorText, tries),
    next: dueAt === null || dueAt <= now ? 'now' : `at ${timeWords(dueAt, now)}`,
    isLost: protocol.lost !== undefined,
    ...(wait === 'order' && { before: beforeWords(delivery, facts) }),
    ...(wait === 'budget' && { limit: budgetWords(delivery, facts) }),
  })
}

/** The message before it may have been sent meanwhile. Then its name is not known. */
function beforeName({ id }: Delivery, { messagesBefore }: Facts): string {
  const before = messagesBefore.get(id)
  return before === undefined
    ? 'an earlier message of its run'
    : `${deliveryName(before)} (${before.id})`
}

function beforeWords(delivery: Delivery, facts: Facts): string {
  const name = beforeName(delivery, facts)
  return facts.messagesBefore.has(delivery.id) ? `${name}, an earlier message of its run` : name
}

function budgetWords(delivery: Delivery, facts: Facts): string {
  const { now } = facts
  const budget = budgetOf(delivery, facts)
  const name = budget === null ? 'this account' : cleanText(budget.identity, 80)
  const { blockedUntil = null, blockedReason = null } = budget ?? {}
  if (blockedUntil === null || blockedUntil <= now) {
    const at = timeWords(delivery.dueAt ?? now, now)
    if (isBehindOthers(delivery, now)) return `other writes by ${name} are sent before it`
    return hasFailed(delivery)
      ? `next try at ${at}, when the budget of ${name} allows it`
      : `the budget of ${name} allows it at ${at}`
  }
  const reason = blockedReason === null ? '' : ` (${cleanText(blockedReason)})`
  const until = `GitHub asked ${name} to wait until ${timeWords(blockedUntil, now)}${reason}`
  const failsAt = failsBefore(blockedUntil, delivery, facts)
  return failsAt === null
    ? until
    : `${until}. Fails at ${timeWords(failsAt, now)} unless the block is removed before`
}

/** Its last try failed, so it waits to be tried again. */
const hasFailed = ({ tries, errorText }: Delivery): boolean => tries > 0 && errorText !== null

/** When a delivery fails, if that is before its identity may write again. */
function failsBefore(blockedUntil: number, delivery: Delivery, { rules }: Facts): number | null {
  const failsAt = lastDeadlineOf(delivery, rules)
  return failsAt < blockedUntil ? failsAt : null
}

function noServerWords({ servedAt, now }: Facts): string {
  const only = 'only a server publishes, and no server'
  if (servedAt === null) return `${only} has used this database yet`
  return `${only} was active since ${timeWords(servedAt, now)}`
}

function neverServedWords(facts: Facts): string {
  if (!isOfExec(facts)) return noServerWords(facts)
  const needs = 'holdfast exec publishes only with GitHub credentials'
  return `${needs}, and no server has used this database yet`
}

/** Claimed by `holdfast exec` directly on the store, which can publish without a server. */
export const isOfExec = ({ rows }: Facts): boolean => rows.some(({ actor }) => actor === execActor)

/**
 * Without a server, the library announces nothing, so there is no delivery that could say why
 * GitHub shows nothing.
 */
export const isNeverServed = ({ servedAt, deliveries, subjects }: Facts): boolean =>
  servedAt === null && deliveries.length === 0 && subjects.some(({ run }) => run?.repo != null)

/** Its identity may write, but it is not its turn yet. */
const isBehindOthers = ({ queue, dueAt }: Delivery, now: number): boolean =>
  queue !== null && (dueAt ?? now) <= now

/** The budget that it waits for. Without a queue this is a guess; null if several are possible. */
export function budgetOf({ dueAt, queue }: Delivery, { budgets, now }: Facts): Budget | null {
  if (queue !== null) {
    return budgets.find(({ identity }) => identity === identityOfQueue(queue)) ?? null
  }
  const blocked = budgets.filter(({ blockedUntil }) => (blockedUntil ?? 0) > now)
  const until = blocked.filter(({ blockedUntil }) => blockedUntil === dueAt)
  return [until, blocked, budgets].find(({ length }) => length === 1)?.[0] ?? null
}

export interface Awaited {
  readonly what: string
  /** Null if there is no such time. */
  readonly until: number | null
}

/** Deliveries that wait for the same are one entry. */
export function awaitedDeliveries(facts: Facts): Awaited[] {
  const groups = new Map<string, Awaited & { readonly names: string[] }>()
  for (const delivery of facts.deliveries.filter(isOpen)) {
    const until = awaitedUntil(delivery, facts)
    const name = deliveryName(delivery)
    const form = awaitedWords('…', delivery, facts)
    const key = `${form} ${until ?? ''}`
    const group = groups.get(key) ?? { what: form, until, names: [] }
    group.names.push(name)
    groups.set(key, group)
  }
  return [...groups.values()].map(({ what, until, names }) => {
    return { what: what.replaceAll('…', joinNames(names)), until }
  })
}

function awaitedUntil(delivery: Delivery, facts: Facts): number | null {
  const { now, servedAt } = facts
  if (isHeld(delivery) || delivery.wait === 'order') return null
  const wait = waitOf(delivery, now)
  if (wait === 'due' && !isServedRecently(servedAt, now)) return null
  if (wait !== 'budget') return delivery.dueAt
  const { blockedUntil } = budgetOf(delivery, facts) ?? {}
  if (blockedUntil != null && blockedUntil > now) {
    return failsBefore(blockedUntil, delivery, facts) ?? blockedUntil
  }
  return isBehindOthers(delivery, now) ? null : delivery.dueAt
}

function awaitedWords(name: string, delivery: Delivery, facts: Facts): string {
  const isLost = delivery.protocol.lost !== undefined
  switch (waitOf(delivery, facts.now)) {
    case 'order':
      return `${beforeName(delivery, facts)}; ${name} is sent after it`
    case 'leased':
      return `GitHub's answer about ${name}`
    case 'backoff':
      return nextTryWords(name, delivery)
    case 'budget':
      return roomWords(name, delivery, facts)
    case 'in_doubt':
      return `a check on GitHub for ${name}. Holdfast ${afterCheck(isLost)}`
    case 'held':
      return `a person's decision about ${name}`
    case 'no_address':
      return `an address for ${name}`
    default:
      return isServedRecently(facts.servedAt, facts.now)
        ? `the sending of ${name}`
        : `a server that sends ${name}`
  }
}

const nextTryWords = (name: string, { tries }: Delivery): string =>
  `the next try to send ${name} (try ${tries + 1})`

function roomWords(name: string, delivery: Delivery, facts: Facts): string {
  const budget = budgetOf(delivery, facts)
  const { blockedUntil } = budget ?? {}
  const whose = budget === null ? '' : ` of ${cleanText(budget.identity, 80)}`
  if (blockedUntil == null || blockedUntil <= facts.now) {
    return hasFailed(delivery)
      ? `${nextTryWords(name, delivery)}, when the write budget${whose} has room`
      : `room for ${name} in the write budget${whose}`
  }
  const block = `the end of GitHub's limit${whose}, to send ${name}`
  if (failsBefore(blockedUntil, delivery, facts) === null) return block
  return `${block}; after this time it fails`
}
