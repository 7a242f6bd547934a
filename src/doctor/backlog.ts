/** Checks of what waits: runs for a worker or the sweeper, webhooks for a decision. */
import type { CatchUpBacklog } from '../store/catch-up-store.ts'
import type { StoreMode } from '../store.ts'
import type { AuditRow } from '../domain/audit.ts'
import { fine, warning, type Finding } from '../domain/finding.ts'
import type { Counted, InboxBacklog, Paged, StoreVitals } from '../store.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** An active worker takes a run within seconds. */
const pendingMsMax = 5 * minuteMs
const webhookMsMax = minuteMs
const lostLeasesMax = 5
const triesMin = 3
/** Two passes of catch-up. */
const headMsMax = 15 * minuteMs

export function checkPending({ pending }: StoreVitals, nowMs: number): readonly Finding[] {
  if (pending.oldestAt === null) return [fine('runs.pending', 'No run waits for a worker.')]
  const waitedMs = nowMs - pending.oldestAt
  const waiting = `${countText(pending, 'run')} ${waits(pending)} for a worker`
  const oldest = `the oldest ${agoText(waitedMs)}`
  if (waitedMs <= pendingMsMax) return [fine('runs.pending', `${waiting}, ${oldest}.`)]
  return [
    warning(
      'runs.pending',
      `${waiting}, ${oldest} (${pending.types.join(', ')}).`,
      'Is a worker active that takes these types? It polls POST /v1/runs/lease. ' +
        'List the runs: holdfast runs --state pending',
    ),
  ]
}

/** A step is in doubt, and only a person can tell whether it was done. */
export function checkUndecided(waiting: number): readonly Finding[] {
  if (waiting === 0) return [fine('runs.waiting', 'No run waits for a person.')]
  const counted = { count: waiting, more: false }
  return [
    warning(
      'runs.waiting',
      `${countText(counted, 'run')} ${waits(counted)} for a person's decision.`,
      'List them: holdfast runs --state waiting. What to decide: holdfast why ID',
    ),
  ]
}

/**
 * The sweeper runs every second, so a run that is due for a minute shows that no sweeper runs.
 * `why` already calls it overdue before that, so the text names the minute.
 */
export function checkOverdue({ overdue }: StoreVitals): readonly Finding[] {
  if (overdue.count === 0) {
    return [fine('runs.overdue', 'No run is overdue by more than a minute.')]
  }
  return [
    warning(
      'runs.overdue',
      `${countText(overdue, 'run')} past the end of the lease or the deadline.`,
      'Only a server ends or returns such runs. Is a server active? Check its log.',
    ),
  ]
}

/** `lost` has the newest lost leases. */
export function checkLostLeases(
  lost: Pick<Paged<AuditRow>, 'items' | 'nextCursor'>,
  nowMs: number,
): readonly Finding[] {
  const count = lost.items.filter(({ at }) => at > nowMs - hourMs).length
  const counted = { count, more: lost.nextCursor !== null && count === lost.items.length }
  const were = count === 1 ? 'was' : 'were'
  const lostText = `${countText(counted, 'lease')} ${were} lost in the last hour.`
  if (count <= lostLeasesMax) return [fine('runs.leases', lostText)]
  return [
    warning(
      'runs.leases',
      lostText,
      'Workers stop, or do not reach the server in time. List the cases: holdfast audit --type ' +
        'run.heartbeat_lost. A longer HOLDFAST_LEASE_MS gives them more time.',
    ),
  ]
}

export function checkInbox(backlog: InboxBacklog, nowMs: number): readonly Finding[] {
  return [...checkWaiting(backlog, nowMs), ...checkPostponed(backlog), ...checkGivenUp(backlog)]
}

function checkWaiting({ waiting, oldestAt }: InboxBacklog, nowMs: number): readonly Finding[] {
  if (waiting === 0 || oldestAt === null)
    return [fine('inbox', 'No webhook waits to be processed.')]
  const waitedMs = nowMs - oldestAt
  const counted = { count: waiting, more: false }
  const waitingText =
    `${countText(counted, 'webhook')} ${waits(counted)} to be processed, ` +
    `the oldest ${agoText(waitedMs)}.`
  if (waitedMs <= webhookMsMax) return [fine('inbox', waitingText)]
  return [
    warning(
      'inbox',
      waitingText,
      'Is a server active? Why a webhook waits: holdfast inbox, then holdfast inbox show ID',
    ),
  ]
}

/** The first tries may fail because of a limit of GitHub or a busy store. */
function checkPostponed({ postponed, mostTried }: InboxBacklog): readonly Finding[] {
  if (mostTried === null || mostTried.tries < triesMin) return []
  const counted = countText({ count: postponed, more: false }, 'webhook')
  const { id, tries, lastError } = mostTried
  return [
    warning(
      'inbox.put_off',
      `${counted} could not be processed yet. ${id} was tried ${tries} times: ${lastError}`,
      `Holdfast tries again. Show it: holdfast inbox show ${id}`,
    ),
  ]
}

function checkGivenUp({ failed, lastFailed }: InboxBacklog): readonly Finding[] {
  if (lastFailed === null) return []
  const { id, reason } = lastFailed
  return [
    warning(
      'inbox.failed',
      `${countText({ count: failed, more: false }, 'webhook')} failed, the last ${id}: ${reason}.`,
      `List them: holdfast inbox --state failed. Process one again: holdfast inbox replay ${id}`,
    ),
  ]
}

/**
 * Every pass of catch-up asks about the due heads. After a day they are given up. The sandbox has
 * no catch-up, and its heads decide nothing on the real GitHub.
 */
export function checkCatchUp(
  backlog: CatchUpBacklog,
  nowMs: number,
  mode: StoreMode,
): readonly Finding[] {
  const { headChecks, deliveriesUnread, deliveriesUnfetched } = backlog
  const waitedMs = headChecks.oldestAt === null ? 0 : nowMs - headChecks.oldestAt
  const heads = countText(headChecks, 'head')
  const missed = deliveriesUnfetched.length
  const unfetched = `${missed} missed webhook${missed === 1 ? '' : 's'}`
  return [
    ...(mode === 'sandbox'
      ? [fine('catch-up.heads', 'The sandbox checks no heads on GitHub.')]
      : waitedMs <= headMsMax
        ? [fine('catch-up.heads', `${heads} to be checked on GitHub.`)]
        : [
            warning(
              'catch-up.heads',
              `${heads} could not be checked on GitHub yet, the oldest ${agoText(waitedMs)}.`,
              'Holdfast tries again. Why it fails: holdfast catchup',
            ),
          ]),
    ...(deliveriesUnread
      ? [
          warning(
            'catch-up.webhooks',
            "GitHub's list of sent webhooks is longer than one pass of catch-up reads.",
            'The next passes continue; GitHub keeps the list for 3 days. Continue now: holdfast ' +
              'catchup',
          ),
        ]
      : []),
    ...(deliveriesUnfetched.length > 0
      ? [
          warning(
            'catch-up.unfetched',
            `GitHub did not return ${unfetched}, such as ${deliveriesUnfetched[0]}.`,
            'Holdfast tries again for 3 days. To get it now, redeliver it in the settings of the ' +
              'App.',
          ),
        ]
      : []),
  ]
}

function countText({ count, more }: Counted, noun: string): string {
  return `${more ? 'More than ' : ''}${count === 0 ? 'No' : count} ${noun}${count === 1 ? '' : 's'}`
}

const waits = ({ count }: Counted): string => (count === 1 ? 'waits' : 'wait')

/** `for 12 s`, `for 3 min`, `for 5 h`. */
export function agoText(ms: number): string {
  if (ms < 2 * minuteMs) return `for ${Math.max(0, Math.round(ms / 1000))} s`
  if (ms < 120 * minuteMs) return `for ${Math.round(ms / minuteMs)} min`
  return `for ${Math.round(ms / (60 * minuteMs))} h`
}
