/** What is awaited, until when, and what happens if it does not come. */
import type { InboxEntry } from '../../domain/inbox.ts'
import type { Run } from '../../domain/run.ts'
import { furtherLeases } from '../../domain/run.ts'
import { happeningOf, happeningWords } from './happening-words.ts'
import type { Known, Stand } from './known.ts'
import { awaitedDeliveries } from './showing.ts'
import { outside, runWords, workerWords } from './plain-words.ts'

export interface Awaited {
  readonly what: string
  /** Null where no time is set. */
  readonly until: number | null
}

export function awaitedOf(known: Known): readonly Awaited[] {
  const { stands, webhooks, only } = known
  const ofRuns = stands.flatMap((stand) => ofStand(stand, only !== null))
  return [...ofRuns, ...awaitedDeliveries(known), ...webhooks.toReversed().flatMap(ofWebhook)]
}

/** Whoever asks about one run waits for another only if that one is before it. */
function ofStand({ run, ahead }: Stand, isOnly: boolean): Awaited[] {
  const isOther = ahead !== null && ahead.id !== run?.id
  const isBehind = isOther && run?.state === 'pending'
  return [
    ...(run === null ? [] : ofRun(run, isBehind ? ahead : null)),
    ...(isBehind || (isOther && !isOnly) ? ofRun(ahead, null) : []),
  ]
}

function ofRun(run: Run, before: Run | null): Awaited[] {
  switch (run.state) {
    case 'pending':
      return run.availableAt === null ? [inLine(run, before)] : [forAWorker(run)]
    case 'running':
      return [heartbeat(run), ...end(run), ...rerun(run)]
    case 'waiting':
      return [{ what: `a person's answer for ${runWords(run)}`, until: run.deadlineAt }]
    default:
      return []
  }
}

function inLine(run: Run, before: Run | null): Awaited {
  const whom = before === null ? 'the run before it' : `${runWords(before)} (${before.id})`
  return { what: `the end of ${whom}; ${runWords(run)} follows it`, until: null }
}

function forAWorker(run: Run): Awaited {
  const what = `a worker to take ${runWords(run)}; if none does, it fails (no_worker)`
  return { what, until: run.dueAt }
}

function heartbeat(run: Run): Awaited {
  const from = `the next heartbeat of ${workerWords(run.worker)} for ${runWords(run)}`
  return { what: `${from}; if it does not come, ${afterSilence(run)}`, until: run.leaseExpiresAt }
}

/** See domain/sweep.ts: who leased decides. */
function afterSilence(run: Run): string {
  if (run.holder === 'caller') {
    return (
      `the next claim may take the run over, and after ${furtherLeases} more leases without ` +
      'one it fails (worker_lost)'
    )
  }
  return run.attempt >= run.attemptsMax
    ? `it fails (attempts_exhausted): this is attempt ${run.attempt} of ${run.attemptsMax}`
    : `it waits for the next worker: this is attempt ${run.attempt} of ${run.attemptsMax}`
}

function end(run: Run): Awaited[] {
  if (run.deadlineAt === null) return []
  return [
    {
      what: `the end of ${runWords(run)}; later than this it fails (timeout)`,
      until: run.deadlineAt,
    },
  ]
}

function rerun(run: Run): Awaited[] {
  if (!run.rerunWanted) return []
  const what = `the end of this round of ${runWords(run)}; then it is done again, as was asked for`
  return [{ what, until: null }]
}

function ofWebhook(entry: InboxEntry): Awaited[] {
  if (entry.state !== 'waiting') return []
  const about = happeningWords(happeningOf(entry))
  if (entry.tries === 0) {
    return [{ what: `the decision on a webhook: ${about}`, until: entry.dueAt }]
  }
  const why = entry.lastError === null ? '' : ` (${outside(entry.lastError)})`
  const what = `try ${entry.tries + 1} to decide on a webhook${why}: ${about}`
  return [{ what, until: entry.dueAt }]
}
