/** Checks of what is not published yet, of blocked identities, and of settings that delay it. */
import { cappedCounts } from '../domain/outbox/backlog-count.ts'
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import { useOf, type Budget } from '../domain/outbox/budget.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import type { DeliveryWait } from '../domain/outbox/delivery.ts'
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import type { Author, LingeringDelivery, OutboxBacklog } from '../store/outbox-store.ts'
import { agoText } from './backlog.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
/** Confirming, settling and a usual rate limit take less time. */
const openMsMax = 10 * minuteMs
const namedMax = 3
/** The share of a budget. The remainder is for creating and ending. */
const nearlyUsed = 0.9

const waitRemedies: Readonly<Record<DeliveryWait, string>> = {
  due: 'Is a server active? Only a server publishes.',
  order: 'It waits for an earlier message of its run: holdfast deliveries --run RUN_ID',
  leased: 'It is being sent. If that server has died, another takes over within seconds.',
  backoff: 'GitHub failed; Holdfast tries again. Why it failed: holdfast deliveries show ID',
  budget: 'It is sent when the budget allows: holdfast budgets',
  in_doubt: 'It may have arrived. Holdfast asks GitHub before it sends it again.',
  held:
    'It may have arrived, and GitHub cannot be asked. Check yourself. If it is there: holdfast ' +
    'deliveries confirm ID. If not: holdfast deliveries retry ID',
  no_address: 'Its recipient has no address on this channel.',
}

export function checkDeliveries(backlog: OutboxBacklog, now: number): readonly Finding[] {
  return [
    ...openFinding(backlog, now),
    ...failedFinding(backlog),
    ...unreportedFinding(backlog, now),
  ]
}

function openFinding(backlog: OutboxBacklog, now: number): readonly Finding[] {
  const { open, oldest } = backlog
  const count = Object.values(open).reduce((sum, of) => sum + of, 0)
  const [first] = oldest
  if (first === undefined) return [fine('deliveries', 'Nothing waits to be published.')]
  const waitedMs = now - first.since
  const waiting = `${deliveries(count, cappedCounts(backlog).open)} to be published`
  if (waitedMs <= openMsMax) return [fine('deliveries', `${waiting}.`)]
  const named = oldest.slice(0, namedMax).map((item) => openName(item, now))
  return [
    warning(
      'deliveries',
      `${waiting}, oldest first: ${named.join('; ')}.`,
      waitRemedies[first.wait ?? 'due'],
    ),
  ]
}

function openName({ deliveryId, channel, wait, since }: LingeringDelivery, now: number): string {
  return `${deliveryId} (${channel}, ${wait ?? 'due'} ${agoText(now - since)})`
}

function failedFinding(backlog: OutboxBacklog): readonly Finding[] {
  const { failed, oldestFailed } = backlog
  if (failed === 0) return [fine('deliveries.failed', 'No failed deliveries.')]
  const named = oldestFailed
    .slice(0, namedMax)
    .map(
      ({ deliveryId, channel, reason }) => `${deliveryId} (${channel}, ${reason ?? 'no reason'})`,
    )
  return [
    warning(
      'deliveries.failed',
      `${deliveries(failed, cappedCounts(backlog).failed)} failed: ${named.join('; ')}.`,
      'See why: holdfast deliveries --status FAILED. When fixed, send them again: holdfast ' +
        'deliveries retry --all. Or close one: holdfast deliveries skip ID --reason TEXT',
    ),
  ]
}

function unreportedFinding(backlog: OutboxBacklog, now: number): readonly Finding[] {
  const { unreported, unreportedCount } = backlog
  const [first] = unreported
  if (first === undefined || now - first.since <= openMsMax) {
    return [fine('runs.unreported', 'Every run that ended is shown as ended.')]
  }
  const capped = cappedCounts(backlog)
  const count = `${atLeast(capped.open || capped.failed)}${unreportedCount}`
  const named = unreported
    .slice(0, namedMax)
    .map(({ runId, deliveryId, status }) => `${runId} (${deliveryId} is ${status})`)
  return [
    warning(
      'runs.unreported',
      `${count} ${unreportedCount === 1 ? 'announcement' : 'announcements'} of runs that ended ` +
        `may still show as running, the oldest ${agoText(now - first.since)}: ${named.join('; ')}.`,
      'Find the cause: holdfast why RUN_ID. When fixed: holdfast deliveries retry DELIVERY_ID',
    ),
  ]
}

export function checkBudgets(
  budgets: readonly Budget[],
  limits: BudgetLimits,
  { openMsMax: keptMs }: Pick<PublishingRules, 'openMsMax'>,
  now: number,
): readonly Finding[] {
  const blocked = budgets.flatMap((budget) => blockedFinding(budget, keptMs, now))
  const spent = budgets.flatMap((budget) => spentFinding(budget, limits, now))
  const findings = [...blocked, ...spent]
  return findings.length > 0 ? findings : [fine('budgets', 'No identity is blocked.')]
}

function blockedFinding(budget: Budget, keptMs: number, now: number): readonly Finding[] {
  const { identity, blockedUntil, blockedReason, blockedSince } = budget
  if (blockedUntil === null || blockedUntil <= now) return []
  const until = `${identity} is blocked until ${new Date(blockedUntil).toISOString()}`
  const lastsLong = blockedUntil - now > hourMs || now - (blockedSince ?? now) > hourMs
  const since = blockedSince === null ? '' : `, since ${new Date(blockedSince).toISOString()}`
  const what = `${until}${since} (${blockedReason ?? 'rate_limited'})`
  if (!lastsLong) return [warning('budgets.blocked', `${what}.`, remedyFor(budget))]
  const failing = new Date(now + keptMs).toISOString()
  const outlasts = blockedUntil > now + keptMs
  const lost = outlasts
    ? ` What waits for it fails ${keptMs / dayMs} days after it was wanted (from now: ${failing}).`
    : ''
  const blocked = `${what}, for more than an hour.${lost}`
  return [problem('budgets.blocked_long', blocked, remedyFor(budget))]
}

function remedyFor({ identity, blockedReason }: Budget): string {
  const lift = `holdfast budgets unblock ${identity}`
  if (blockedReason === 'unauthorized') {
    return `GitHub refuses the credentials. When fixed: ${lift}`
  }
  if (blockedReason === 'not_installed') {
    return `Install the GitHub App there. When fixed: ${lift}`
  }
  return (
    `GitHub asked to wait. If it accepts writes again before then: ${lift}. If it comes often, ` +
    'write less: raise HOLDFAST_COALESCE_MS, or lower HOLDFAST_WRITES_PER_HOUR.'
  )
}

function spentFinding(budget: Budget, limits: BudgetLimits, now: number): readonly Finding[] {
  const { hour } = useOf(budget, now)
  if (limits.perHour === 0 || hour.all < limits.perHour * nearlyUsed) return []
  return [
    warning(
      'budgets.spent',
      `${budget.identity} has made ${hour.all} of ${limits.perHour} writes in the last hour.`,
      'Progress waits; new comments and results are sent first. Raise HOLDFAST_COALESCE_MS to ' +
        'show progress less often.',
    ),
  ]
}

/** Holdfast recognises its own output by the numeric id of the author. */
export function checkAuthors(
  authors: readonly Author[],
  { oldest }: OutboxBacklog,
): readonly Finding[] {
  if (authors.length > 0) {
    const known = authors.map(({ kind, githubId }) => `${kind} ${githubId}`)
    return [fine('publishing.author', `Published as ${known.join(', ')}.`)]
  }
  if (oldest.length === 0) return [fine('publishing.author', 'Nothing has been published yet.')]
  return [
    warning(
      'publishing.author',
      'Holdfast does not know its own account on GitHub yet, and publishes nothing before.',
      'Does GitHub accept the credentials? See the findings about GitHub below. A server asks ' +
        'again.',
    ),
  ]
}

export function checkLimits(limits: BudgetLimits): readonly Finding[] {
  const { spacingMs, perMinute, perHour } = limits
  const reached = spacingMs === 0 ? Infinity : Math.floor(hourMs / spacingMs)
  const doubts: string[] = []
  if (perHour > 0 && reached < perHour) {
    doubts.push(
      `HOLDFAST_WRITE_SPACING_MS ${spacingMs} allows ${reached} writes an hour, so ` +
        `HOLDFAST_WRITES_PER_HOUR ${perHour} is never reached.`,
    )
  }
  if (perHour > 0 && perMinute > perHour) {
    doubts.push(
      `HOLDFAST_WRITES_PER_MINUTE ${perMinute} is more than HOLDFAST_WRITES_PER_HOUR ${perHour}: ` +
        'a busy minute uses up the hour.',
    )
  }
  if (perMinute === 0 && perHour === 0) {
    doubts.push('No limit is set, so Holdfast writes until GitHub refuses.')
  }
  const remedy =
    'The defaults are what GitHub asks for: spacing 1000 ms, 80 per minute, 500 per hour.'
  if (doubts.length === 0) return []
  return doubts.map((doubt) => warning('publishing.limits', doubt, remedy))
}

const deliveries = (count: number, isLeast: boolean): string =>
  `${atLeast(isLeast)}${count} ${count === 1 ? 'delivery' : 'deliveries'}`

const atLeast = (isLeast: boolean): string => (isLeast ? 'At least ' : '')
