/**
 * What GitHub shows of a run, and what it does not show yet: what each delivery waits for and until
 * when, what is in doubt and what follows, what was given up and how that is mended.
 */
import type { Budget } from '../../domain/outbox/budget.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import { isOpen, waitOf } from '../../domain/outbox/delivery.ts'
import { unverifiedMarker } from '../../domain/outbox/look.ts'
import { identityOfQueue } from '../../domain/outbox/queue.ts'
import { lastDeadlineOf } from '../../domain/outbox/schedule.ts'
import { isServedRecently } from '../../domain/served.ts'
import type { Action } from './actions.ts'
import type { Awaited } from './awaiting.ts'
import { deliveryName, failedBecause, skippedBecause } from './delivery-words.ts'
import type { Known } from './known.ts'
import { lastSeen, seenWords } from './last-seen.ts'
import { atStart, outside, timeWords } from './plain-words.ts'

/** Sentences without their full stops. */
export function showingWords(known: Known): string[] {
  const shown = known.deliveries.filter((delivery) => isShown(delivery, known))
  const rest = known.deliveries.filter((delivery) => !isShown(delivery, known))
  const names = shown.map((delivery) => `${deliveryName(delivery)}${addressOf(delivery)}`)
  return [
    ...(names.length === 0 ? [] : [`GitHub shows ${names.join(', ')}`]),
    ...rest.map((delivery) => standingOf(delivery, known)),
  ]
}

const isShown = (delivery: Delivery, { rows }: Known): boolean =>
  delivery.status === 'SENT' && lastSeen(delivery, rows) === 'shown'

/** Without the full stop. */
export function standingOf(delivery: Delivery, known: Known): string {
  const name = atStart(deliveryName(delivery))
  switch (delivery.status) {
    case 'SENT': {
      const seen = lastSeen(delivery, known.rows)
      if (seen === 'shown') return `${name} is shown on GitHub${addressOf(delivery)}`
      return `${name}${addressOf(delivery)} ${seenWords[seen]}`
    }
    case 'FAILED':
      return `${name} was given up: ${failedBecause(delivery.reason, delivery.errorText)}`
    case 'SKIPPED':
      return `${name} was skipped: ${skippedBecause(delivery.reason)}`
    case 'PENDING':
      return `${name} ${olderWords(delivery)}: ${openWords(delivery, known)}`
  }
}

/** People wonder why something is still sent of a run that was superseded or cancelled. */
function openWords(delivery: Delivery, known: Known): string {
  const words = waitWords(delivery, known)
  const run = known.runs.find(({ id }) => id === delivery.runId)
  if (delivery.kind !== 'message' || isHeld(delivery)) return words
  if (run?.state !== 'superseded' && run?.state !== 'cancelled') return words
  if (delivery.createdAt > (run.finishedAt ?? 0)) return words
  return `${words}; it was published before its run was ${run.state}, and is sent all the same`
}

const olderWords = ({ providerId }: Delivery): string =>
  providerId === null ? 'is not on GitHub yet' : 'does not show this on GitHub yet'

const addressOf = ({ providerUrl }: Delivery): string =>
  providerUrl === null ? '' : ` (${outside(providerUrl, 300)})`

/** Only people end this wait. */
const isHeld = (delivery: Delivery): boolean => isOpen(delivery) && delivery.wait === 'held'

function waitWords(delivery: Delivery, known: Known): string {
  const { now } = known
  const { dueAt, errorText, tries } = delivery
  const at = dueAt === null || dueAt <= now ? 'now' : `at ${timeWords(dueAt, now)}`
  const why = errorText === null ? '' : ` (${outside(errorText)})`
  switch (waitOf(delivery, now)) {
    case 'order':
      return `it is sent after ${beforeWords(delivery, known)}`
    case 'leased':
      return 'it is being sent'
    case 'backoff':
      return `it did not go through${why}; try ${tries + 1} follows ${at}`
    case 'budget':
      return `it waits for ${budgetWords(delivery, known)}`
    case 'in_doubt':
      return `${doubtWords(delivery, why)}; GitHub is asked ${at}, and ${afterLook(delivery)}`
    case 'held':
      return `it is held until a person decides${why}`
    case 'no_address':
      return 'nobody knows where to send it'
    default:
      return isServedRecently(known.servedAt, now)
        ? `it is sent ${at}`
        : `it is sent when a server runs; ${absenceWords(known)}`
  }
}

/** It may have left meanwhile: then nobody knows it by name any more. */
function beforeName({ id }: Delivery, { messagesBefore }: Known): string {
  const before = messagesBefore.get(id)
  return before === undefined
    ? 'an earlier message of its run'
    : `${deliveryName(before)} (${before.id})`
}

function beforeWords(delivery: Delivery, known: Known): string {
  const name = beforeName(delivery, known)
  return known.messagesBefore.has(delivery.id) ? `${name}, an earlier message of its run` : name
}

function doubtWords({ protocol }: Delivery, why: string): string {
  return protocol.lost === undefined
    ? `nobody knows whether it arrived${why}`
    : `GitHub says that it is gone${why}`
}

function afterLook({ protocol }: Delivery): string {
  return protocol.lost === undefined
    ? 'it is sent again only if it is not there'
    : 'it is made once more if it is not there'
}

function budgetWords(delivery: Delivery, known: Known): string {
  const { now } = known
  const budget = budgetOf(delivery, known)
  const turn = isBehindOthers(delivery, now)
    ? 'behind others'
    : `until ${timeWords(delivery.dueAt ?? now, now)}`
  if (budget === null) return `its write budget ${turn}`
  const { blockedUntil, blockedReason } = budget
  const name = outside(budget.identity, 80)
  if (blockedUntil === null || blockedUntil <= now) return `the write budget of ${name} ${turn}`
  const said = blockedReason === null ? '' : ` (${outside(blockedReason)})`
  const until = `${name}, which is blocked${said} until ${timeWords(blockedUntil, now)}`
  const failsAt = failsBefore(blockedUntil, delivery, known)
  return failsAt === null
    ? until
    : `${until}; it is given up at ${timeWords(failsAt, now)} unless the block is lifted before`
}

/** When a delivery is given up, if that is before its identity may write again. */
function failsBefore(blockedUntil: number, delivery: Delivery, { rules }: Known): number | null {
  const failsAt = lastDeadlineOf(delivery, rules)
  return failsAt < blockedUntil ? failsAt : null
}

function absenceWords({ servedAt, now }: Known): string {
  if (servedAt === null) return 'no server has ever served this store'
  return `no server has served this store since ${timeWords(servedAt, now)}`
}

/** Its identity may write, but it is not its turn yet. */
const isBehindOthers = ({ queue, dueAt }: Delivery, now: number): boolean =>
  queue !== null && (dueAt ?? now) <= now

/** Only one in a queue knows who will send it: null where more than one can be meant. */
function budgetOf({ dueAt, queue }: Delivery, { budgets, now }: Known): Budget | null {
  if (queue !== null) {
    return budgets.find(({ identity }) => identity === identityOfQueue(queue)) ?? null
  }
  const blocked = budgets.filter(({ blockedUntil }) => (blockedUntil ?? 0) > now)
  const until = blocked.filter(({ blockedUntil }) => blockedUntil === dueAt)
  return [until, blocked, budgets].find(({ length }) => length === 1)?.[0] ?? null
}

export function awaitedDeliveries(known: Known): Awaited[] {
  return known.deliveries.filter(isOpen).map((delivery) => {
    return { what: awaitedWords(delivery, known), until: awaitedUntil(delivery, known) }
  })
}

function awaitedUntil(delivery: Delivery, known: Known): number | null {
  const { now, servedAt } = known
  if (isHeld(delivery) || delivery.wait === 'order') return null
  const wait = waitOf(delivery, now)
  if (wait === 'due' && !isServedRecently(servedAt, now)) return null
  if (wait !== 'budget') return delivery.dueAt
  const { blockedUntil } = budgetOf(delivery, known) ?? {}
  if (blockedUntil != null && blockedUntil > now) {
    return failsBefore(blockedUntil, delivery, known) ?? blockedUntil
  }
  return isBehindOthers(delivery, now) ? null : delivery.dueAt
}

function awaitedWords(delivery: Delivery, known: Known): string {
  const name = deliveryName(delivery)
  switch (waitOf(delivery, known.now)) {
    case 'order':
      return `${beforeName(delivery, known)}, before ${name} is sent`
    case 'leased':
      return `GitHub's answer about ${name}`
    case 'backoff':
      return `try ${delivery.tries + 1} to send ${name}`
    case 'budget':
      return roomWords(name, delivery, known)
    case 'in_doubt':
      return `a look at GitHub for ${name}; ${afterLook(delivery)}`
    case 'held':
      return `a person's word about ${name}`
    case 'no_address':
      return `an address for ${name}`
    default:
      return isServedRecently(known.servedAt, known.now)
        ? `the sending of ${name}`
        : `a server that sends ${name}`
  }
}

function roomWords(name: string, delivery: Delivery, known: Known): string {
  const budget = budgetOf(delivery, known)
  const { blockedUntil } = budget ?? {}
  const room = `room for ${name} in the write budget${ofIdentity(budget)}`
  if (blockedUntil == null || failsBefore(blockedUntil, delivery, known) === null) return room
  return `the end of the block${ofIdentity(budget)}; later than this ${name} is given up`
}

const ofIdentity = (budget: Budget | null): string =>
  budget === null ? '' : ` of ${outside(budget.identity, 80)}`

const remedies: Readonly<Record<string, string>> = {
  unauthorized: 'Give credentials that GitHub accepts',
  forbidden: 'Give the App or token the permission to write there, or unlock the conversation',
  not_found: 'Check that the repository and the commit are there, and that we may see them',
  not_installed: 'Install the App in the repository',
  gone: 'Check that what it was written on is still there',
  invalid: 'Check what it was to show: GitHub does not take it',
  deadline: 'Check that GitHub can be reached from here',
}

/** Only what would be accepted as things stand. */
export function deliveryActions(known: Known): Action[] {
  const { deliveries, now, servedAt } = known
  const isUnserved = deliveries.some(isOpen) && !isServedRecently(servedAt, now)
  const ofEach = deliveries.flatMap((delivery) => {
    const { id, status, reason } = delivery
    const name = deliveryName(delivery)
    const retry = (text: string): Action => ({ text, command: `holdfast deliveries retry ${id}` })
    if (status === 'FAILED') {
      const remedy = remedies[reason ?? '']
      const mend = remedy === undefined ? [] : [{ text: remedy, command: null }]
      return [...mend, retry(`Have ${name} sent again`)]
    }
    if (status === 'SKIPPED') {
      return reason === 'never_announced' ? [] : [retry(`Have ${name} sent after all`)]
    }
    if (isHeld(delivery)) return heldActions(delivery, retry)
    if (waitOf(delivery, now) === 'backoff') return [retry(`Have ${name} tried now`)]
    return waitOf(delivery, now) === 'budget' ? budgetActions(delivery, known) : []
  })
  return isUnserved ? [startServer, ...ofEach] : ofEach
}

const startServer: Action = {
  text: 'Start a server on this store: only a server publishes',
  command: 'holdfast serve',
}

function budgetActions(delivery: Delivery, known: Known): Action[] {
  const { identity, blockedUntil } = budgetOf(delivery, known) ?? {}
  if (identity === undefined || blockedUntil == null || blockedUntil <= known.now) {
    return [seeBudgets]
  }
  const lift = {
    text: 'If GitHub accepts writes again, lift the block',
    command: `holdfast budgets unblock ${identity}`,
  }
  return [seeBudgets, lift]
}

const seeBudgets: Action = {
  text: 'See what was written to GitHub, and who has to wait',
  command: 'holdfast budgets',
}

function heldActions(delivery: Delivery, retry: (text: string) => Action): Action[] {
  const { id, kind, errorCode } = delivery
  const name = deliveryName(delivery)
  const skip = {
    text: 'If it is not wanted, leave it',
    command: `holdfast deliveries skip ${id} --reason TEXT`,
  }
  const isUnverified = errorCode === unverifiedMarker
  // A state without its id would be held again with the next version.
  if (isUnverified && kind === 'state') return [importKeys, retry(deleteFirst), skip]
  const withId = isUnverified ? '' : ' --provider-message-id ID'
  return [
    ...(isUnverified ? [importKeys] : []),
    {
      text: `Look at GitHub; if ${name} is there, say so`,
      command: `holdfast deliveries confirm ${id}${withId}`,
    },
    retry('If it is not there, have it sent'),
    skip,
  ]
}

/** An id is only taken of what a key verifies: anything else may be anybody's with the account. */
const importKeys: Action = {
  text: 'If another store wrote what is there and its marker keys were exported, import them',
  command: 'holdfast keys import FILE',
}

const deleteFirst = 'If the keys are lost, delete it on GitHub, then have it sent anew'
