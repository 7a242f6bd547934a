/**
 * Cancels the active runs of a closed pull request, except runs of a later event. If that event is
 * later by so little that a clock may be wrong, GitHub is asked whether the pull request is closed.
 */
import { orderDoubtMs } from '../../../domain/head-order.ts'
import type { InboxEntry } from '../../../domain/inbox.ts'
import type { Run } from '../../../domain/run.ts'
import { isAhead } from '../../../domain/run.ts'
import type { Subject } from '../../../domain/subject.ts'
import type { WebhookAct } from '../../../store.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { waitForLane } from '../../tables/inbox-table.ts'
import { repositoryByGithubId, repositoryByName } from '../../tables/repository-table.ts'
import { isActive, selectRuns } from '../../tables/run-table.ts'
import { lockSubjectByName, type SubjectName } from '../../tables/subject-table.ts'
import type { VerbContext } from '../context.ts'
import { endCancelled } from '../runs/end-run.ts'

type CancelAct = Extract<WebhookAct, { readonly act: 'cancel' }>

interface Closing {
  readonly entry: InboxEntry
  /** GitHub was asked, or cannot be. */
  readonly looked: boolean
  /** The audit row that led to deciding on the entry. */
  readonly causeId: number | null
}

export function* cancelClosed(
  context: VerbContext,
  act: CancelAct,
  { entry, looked, causeId }: Closing,
): Verb<Run[]> {
  const { lane, webhookId, sender } = entry
  let subject = yield* lockPullRequest(context, act, entry)
  if (subject === null) {
    // Another process may be creating the subject now, or moving it to another name.
    yield* waitForLane(lane, context.dialect.keepUnchanged)
    subject = yield* lockPullRequest(context, act, entry)
  }
  if (subject === null) return []
  const active = yield* selectRuns(sql`subject_id = ${subject.id} AND ${isActive} ORDER BY fence`)
  const cancelled: Run[] = []
  // Queued runs are ended first: ending the one ahead would start the next of them, and what was
  // read here would be outdated. Fences do not show the order of the queue: a lease raises them.
  for (const run of active.toSorted((x, y) => Number(isAhead(x)) - Number(isAhead(y)))) {
    const laterMs = laterBy(run, entry)
    if (laterMs > orderDoubtMs) continue
    // This run was claimed after `isClosingInDoubt` was asked.
    if (laterMs > 0 && !looked) throw new LostRace('a run was claimed meanwhile')
    const ended = yield* endCancelled(
      context,
      { run, subject },
      {
        actor: `github:${sender ?? 'ghost'}`,
        code: 'pull_request_closed',
        text: 'the pull request was closed',
        data: { webhook_id: webhookId },
        causeId,
      },
    )
    cancelled.push(ended)
  }
  return cancelled
}

/** Whether a run is later by so little that a clock may be wrong: then GitHub must be asked. */
export function* isClosingInDoubt(act: CancelAct, entry: InboxEntry): Verb<boolean> {
  const name = yield* subjectNameOf(act, entry)
  if (name === null) return false
  const active = yield* selectRuns(sql`${isActive} AND subject_id = (SELECT id FROM subject
    WHERE scope = ${name.scope} AND name = ${name.name} AND type = ${name.type})`)
  return active.some((run) => {
    const laterMs = laterBy(run, entry)
    return laterMs > 0 && laterMs <= orderDoubtMs
  })
}

function laterBy({ lastEventAt }: Run, { eventAt }: InboxEntry): number {
  return eventAt === null || lastEventAt === null ? 0 : lastEventAt - eventAt
}

function* lockPullRequest(
  context: VerbContext,
  act: CancelAct,
  entry: InboxEntry,
): Verb<Subject | null> {
  const name = yield* subjectNameOf(act, entry)
  return name === null ? null : yield* lockSubjectByName(name, context.now())
}

function* subjectNameOf(
  { repo, type, pr }: CancelAct,
  { repoId }: InboxEntry,
): Verb<SubjectName | null> {
  const numbered = repoId === null ? null : yield* repositoryByGithubId(repoId)
  const repository = numbered ?? (yield* repositoryByName(repo))
  return repository === null ? null : { type, scope: repository.id, name: `pr-${pr}` }
}
