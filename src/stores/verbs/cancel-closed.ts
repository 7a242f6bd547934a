/** A closed pull request needs no work: its active runs end, unless they are of a later event. */
import type { InboxEntry } from '../../domain/inbox.ts'
import type { Run } from '../../domain/run.ts'
import { isAhead } from '../../domain/run.ts'
import type { Subject } from '../../domain/subject.ts'
import type { WebhookAct } from '../../store.ts'
import type { Verb } from '../sql.ts'
import { sql } from '../sql.ts'
import { waitForLane } from '../tables/inbox-table.ts'
import { repositoryByGithubId, repositoryByName } from '../tables/repository-table.ts'
import { isActive, selectRuns } from '../tables/run-table.ts'
import { lockSubjectByName } from '../tables/subject-table.ts'
import type { VerbContext } from './context.ts'
import { endCancelled } from './end-run.ts'

type CancelAct = Extract<WebhookAct, { readonly act: 'cancel' }>

export function* cancelClosed(
  context: VerbContext,
  act: CancelAct,
  entry: InboxEntry,
): Verb<Run[]> {
  const { lane, eventAt, webhookId, sender } = entry
  let subject = yield* lockPullRequest(context, act, entry)
  if (subject === null) {
    // Another process may be making it this moment, or moving it under another name.
    yield* waitForLane(lane, context.dialect.keepUnchanged)
    subject = yield* lockPullRequest(context, act, entry)
  }
  if (subject === null) return []
  const active = yield* selectRuns(sql`subject_id = ${subject.id} AND ${isActive} ORDER BY fence`)
  const cancelled: Run[] = []
  // Those that queue come first: the end of the one ahead starts the next of them, so that what was
  // read of it here would no longer be true. Fences do not tell them apart: a lease raises them.
  for (const run of active.toSorted((x, y) => Number(isAhead(x)) - Number(isAhead(y)))) {
    const isLater = eventAt !== null && run.lastEventAt !== null && run.lastEventAt > eventAt
    if (isLater) continue
    const ended = yield* endCancelled(
      context,
      { run, subject },
      {
        actor: `github:${sender ?? 'ghost'}`,
        code: 'pull_request_closed',
        text: 'the pull request was closed',
        data: { webhook_id: webhookId },
      },
    )
    cancelled.push(ended)
  }
  return cancelled
}

function* lockPullRequest(
  context: VerbContext,
  { repo, type, pr }: CancelAct,
  { repoId }: InboxEntry,
): Verb<Subject | null> {
  const numbered = repoId === null ? null : yield* repositoryByGithubId(repoId)
  const repository = numbered ?? (yield* repositoryByName(repo))
  if (repository === null) return null
  const name = { type, scope: repository.id, name: `pr-${pr}` }
  return yield* lockSubjectByName(name, context.now())
}
