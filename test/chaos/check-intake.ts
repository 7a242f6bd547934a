/**
 * Checks the inbox, the runs and the audit after every webhook was processed. It reads only the
 * tables. Returns the violations as sentences.
 */
import type { Client } from '../scenarios/client.ts'
import type { PlannedEvent } from './webhook-plan.ts'

interface EntryJson {
  readonly id: string
  readonly webhook_id: string
  readonly number: number | null
  readonly state: string
  readonly decision: string
  readonly duplicate_of: string | null
  readonly received_at: string
  readonly processed_at: string
}

interface RunJson {
  readonly id: string
  readonly pr: number
  readonly base_sha: string
  readonly head_sha: string
  readonly state: string
  readonly round: number
  readonly attempt: number
}

interface AuditJson {
  readonly type: string
  readonly run_id: string | null
  readonly data: { readonly reason?: string; readonly webhook_id?: string }
}

export interface Seen {
  readonly inbox: readonly EntryJson[]
  readonly runs: readonly RunJson[]
  readonly audits: readonly AuditJson[]
}

export async function lookFromOutside(client: Client): Promise<Seen> {
  return {
    inbox: await all<EntryJson>(client, '/v1/inbox'),
    runs: await all<RunJson>(client, '/v1/runs'),
    audits: await all<AuditJson>(client, '/v1/audit'),
  }
}

async function all<T>(client: Client, path: string): Promise<T[]> {
  const found: T[] = []
  let cursor = ''
  for (;;) {
    const { status, body, text } = await client.get(`${path}?limit=1000${cursor}`)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
    found.push(...(body.items as unknown as T[]))
    if (body.next_cursor === null) return found
    cursor = `&cursor=${body.next_cursor}`
  }
}

export function checkIntake(
  events: readonly PlannedEvent[],
  answered: ReadonlySet<string>,
  seen: Seen,
): string[] {
  return [...checkInbox(events, answered, seen), ...checkRuns(events, seen)]
}

function checkInbox(
  events: readonly PlannedEvent[],
  answered: ReadonlySet<string>,
  { inbox, audits }: Seen,
): string[] {
  const wrong: string[] = []
  const entries = new Map(inbox.map((entry) => [entry.webhook_id, entry]))
  if (entries.size !== inbox.length) wrong.push('a GUID has two entries')
  for (const guid of answered) if (!entries.has(guid)) wrong.push(`${guid} was answered and lost`)
  for (const { webhook_id: guid, state } of inbox) {
    if (!answered.has(guid)) wrong.push(`${guid} has an entry and was never answered`)
    if (state !== 'processed') wrong.push(`${guid} is ${state}`)
  }
  const received = countBy(
    audits.filter(({ type }) => type === 'webhook.received'),
    ({ data }) => data.webhook_id ?? '',
  )
  for (const { guids } of events) {
    const of = inbox.filter(({ webhook_id }) => guids.includes(webhook_id)).toReversed()
    const [first, second, ...more] = of
    if (first === undefined || more.length > 0) wrong.push(`${guids.join(' and ')}: ${of.length}`)
    for (const entry of of) {
      const count = received.get(entry.webhook_id) ?? 0
      if (count !== (entry.duplicate_of === null ? 1 : 0)) {
        wrong.push(`${entry.webhook_id} was received ${count} times`)
      }
      const expected = entry.duplicate_of === null ? 'accepted' : 'duplicate'
      if (entry.decision !== expected) wrong.push(`${entry.webhook_id} is ${entry.decision}`)
    }
    if (first === undefined || second === undefined) continue
    if (first.duplicate_of !== null) wrong.push(`${first.webhook_id} repeats what came later`)
    const repeats = second.duplicate_of === first.id
    const mayBeNew = second.duplicate_of === null && hasBetween(inbox, first, second)
    if (!repeats && !mayBeNew) wrong.push(`${guids.join(' and ')} are not one event`)
  }
  return wrong
}

/** Whether another event of their pull request came between the two; the newest is listed first. */
function hasBetween(inbox: readonly EntryJson[], first: EntryJson, second: EntryJson): boolean {
  const between = inbox.slice(inbox.indexOf(second) + 1, inbox.indexOf(first))
  return between.some(({ number }) => number === first.number)
}

function checkRuns(events: readonly PlannedEvent[], { runs, audits }: Seen): string[] {
  const wrong: string[] = []
  const lastSteps = new Map<number, number>()
  for (const { pr, step } of events) lastSteps.set(pr, Math.max(step, lastSteps.get(pr) ?? 0))
  const byPair = Map.groupBy(runs, ({ pr, base_sha, head_sha }) => `${pr} ${base_sha} ${head_sha}`)
  const starts = Map.groupBy(
    audits.filter(({ type }) => /^run\.(claimed|reclaimed|skipped)$/.test(type)),
    ({ run_id }) => run_id,
  )
  for (const { pr, step, baseSha, headSha } of events) {
    const name = `step ${step} of pull request ${pr}`
    const [run, ...more] = byPair.get(`${pr} ${baseSha} ${headSha}`) ?? []
    if (run === undefined || more.length > 0) {
      wrong.push(`${name} has ${run === undefined ? 'no run' : `${1 + more.length} runs`}`)
      continue
    }
    if (run.round !== 1 || run.attempt !== 1) wrong.push(`${name} was run again`)
    const isLast = step === lastSteps.get(pr)
    const states = isLast ? ['pending'] : ['superseded', 'skipped']
    if (!states.includes(run.state)) wrong.push(`${name} of ${lastSteps.get(pr)} is ${run.state}`)
    const reasons = (starts.get(run.id) ?? []).map(({ data }) => data.reason)
    const fits = run.state === 'skipped' ? ['stale-event'] : ['new', 'superseded-prior']
    if (reasons.length !== 1 || !fits.includes(reasons[0] ?? '')) {
      wrong.push(`${name}, ${run.state}, was begun as ${JSON.stringify(reasons)}`)
    }
  }
  if (runs.length !== events.length) wrong.push(`${events.length} events, ${runs.length} runs`)
  return wrong
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const groups = Map.groupBy(items, keyOf)
  return new Map([...groups].map(([key, group]) => [key, group.length]))
}

/** Entries that were taken before one of these moments and processed after it. */
export function countInherited({ inbox }: Seen, killedAt: readonly number[]): number {
  return inbox.filter(({ received_at, processed_at }) =>
    killedAt.some((at) => Date.parse(received_at) <= at && Date.parse(processed_at) > at),
  ).length
}
