/** What waits: runs for a worker, runs for the sweeper, webhooks for a decision. */
import type { CatchUpBacklog } from '../store/catch-up-store.ts'
import type { AuditRow } from '../domain/audit.ts'
import { fine, warning, type Finding } from '../domain/finding.ts'
import type { Counted, InboxBacklog, Paged, StoreVitals } from '../store.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** Workers that are there take a run within seconds. */
const pendingMsMax = 5 * minuteMs
const webhookMsMax = minuteMs
const lostLeasesMax = 5
const putOffMin = 3
/** Two passes of catch-up. */
const headMsMax = 15 * minuteMs

export function checkPending({ pending }: StoreVitals, nowMs: number): readonly Finding[] {
  if (pending.oldestAt === null) return [fine('runs.pending', 'no run waits for a worker')]
  const waitedMs = nowMs - pending.oldestAt
  const told =
    `${countText(pending, 'run')} ${waits(pending)} for a worker, ` +
    `the oldest ${agoText(waitedMs)}`
  if (waitedMs <= pendingMsMax) return [fine('runs.pending', told)]
  return [
    warning(
      'runs.pending',
      `${told} (${pending.types.join(', ')})`,
      'Is a worker running that takes these types? It polls POST /v1/runs/lease. ' +
        'See them: holdfast runs --state pending',
    ),
  ]
}

/** The sweeper looks every few seconds, so what is due for longer has nobody to look at it. */
export function checkOverdue({ overdue }: StoreVitals): readonly Finding[] {
  if (overdue.count === 0) return [fine('runs.overdue', 'no run is overdue unseen')]
  return [
    warning(
      'runs.overdue',
      `${countText(overdue, 'run')} past lease or deadline, and nobody has looked`,
      'Only a server sweeps. Is one running, and does its log say why it cannot?',
    ),
  ]
}

/** `lost` are the newest of them. */
export function checkLostLeases(
  lost: Pick<Paged<AuditRow>, 'items' | 'nextCursor'>,
  nowMs: number,
): readonly Finding[] {
  const count = lost.items.filter(({ at }) => at > nowMs - hourMs).length
  const counted = { count, more: lost.nextCursor !== null && count === lost.items.length }
  const were = count === 1 ? 'was' : 'were'
  const told = `${countText(counted, 'lease')} ${were} lost in the last hour`
  if (count <= lostLeasesMax) return [fine('runs.leases', told)]
  return [
    warning(
      'runs.leases',
      told,
      'Workers die or do not reach the server in time. See them: ' +
        'holdfast audit --type run.heartbeat_lost. A longer HOLDFAST_LEASE_MS forgives more.',
    ),
  ]
}

export function checkInbox(backlog: InboxBacklog, nowMs: number): readonly Finding[] {
  return [...checkWaiting(backlog, nowMs), ...checkPutOff(backlog), ...checkGivenUp(backlog)]
}

function checkWaiting({ waiting, oldestAt }: InboxBacklog, nowMs: number): readonly Finding[] {
  if (waiting === 0 || oldestAt === null) return [fine('inbox', 'no webhook waits to be decided')]
  const waitedMs = nowMs - oldestAt
  const counted = { count: waiting, more: false }
  const told =
    `${countText(counted, 'webhook')} ${waits(counted)} to be decided, ` +
    `the oldest ${agoText(waitedMs)}`
  if (waitedMs <= webhookMsMax) return [fine('inbox', told)]
  return [
    warning(
      'inbox',
      told,
      'Is a server running? Why one waits: holdfast inbox, then holdfast inbox show ID',
    ),
  ]
}

/** The first try may meet a limit of GitHub or a busy store; the third is no accident. */
function checkPutOff({ postponed, mostTried }: InboxBacklog): readonly Finding[] {
  if (mostTried === null || mostTried.tries < putOffMin) return []
  const counted = countText({ count: postponed, more: false }, 'webhook')
  const { id, tries, lastError } = mostTried
  return [
    warning(
      'inbox.put_off',
      `${counted} could not be processed yet; ${id} was tried ${tries} times: ${lastError}`,
      `It is tried again by itself. See it: holdfast inbox show ${id}`,
    ),
  ]
}

function checkGivenUp({ failed, lastFailed }: InboxBacklog): readonly Finding[] {
  if (lastFailed === null) return []
  const { id, reason } = lastFailed
  return [
    warning(
      'inbox.failed',
      `${countText({ count: failed, more: false }, 'webhook')} failed, last ${id}: ${reason}`,
      `See them: holdfast inbox --state failed. Process one again: holdfast inbox replay ${id}`,
    ),
  ]
}

/** Every pass of catch-up asks about those that are due; a day later they are given up. */
export function checkCatchUp(backlog: CatchUpBacklog, nowMs: number): readonly Finding[] {
  const { headChecks, deliveriesUnread, deliveriesOwed } = backlog
  const waitedMs = headChecks.oldestAt === null ? 0 : nowMs - headChecks.oldestAt
  const heads = countText(headChecks, 'head')
  const owed = countText({ count: deliveriesOwed.length, more: false }, 'missed webhook')
  return [
    ...(waitedMs <= headMsMax
      ? [fine('catch-up.heads', `${heads} to be checked on GitHub`)]
      : [
          warning(
            'catch-up.heads',
            `${heads} could not be checked on GitHub yet, the oldest ${agoText(waitedMs)}`,
            'It is tried again by itself. Why it fails: holdfast catchup',
          ),
        ]),
    ...(deliveriesUnread
      ? [
          warning(
            'catch-up.webhooks',
            "GitHub's record of sent webhooks is longer than one pass of catch-up reads",
            'The next passes go on with it; GitHub keeps it 3 days. Go on now: holdfast catchup',
          ),
        ]
      : []),
    ...(deliveriesOwed.length > 0
      ? [
          warning(
            'catch-up.unfetched',
            `GitHub could not give us ${owed}, such as ${deliveriesOwed[0]}`,
            'It is tried again for 3 days. To have it at once, redeliver it in the App’s settings.',
          ),
        ]
      : []),
  ]
}

function countText({ count, more }: Counted, noun: string): string {
  return `${more ? 'more than ' : ''}${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`
}

const waits = ({ count }: Counted): string => (count === 1 ? 'waits' : 'wait')

export function agoText(ms: number): string {
  if (ms < 2 * minuteMs) return `for ${Math.max(0, Math.round(ms / 1000))} s`
  if (ms < 120 * minuteMs) return `for ${Math.round(ms / minuteMs)} min`
  return `for ${Math.round(ms / (60 * minuteMs))} h`
}
