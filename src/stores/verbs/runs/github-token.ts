/** The holder of a run gets a token of GitHub. The token itself never reaches the store. */
import type { Run } from '../../../domain/run.ts'
import { runNotFound } from '../../../errors.ts'
import type { GitHubTokenNote, LeaseHold } from '../../../store.ts'
import type { Verb } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { selectRun } from '../../tables/run-table.ts'
import type { VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { checkHolder } from './hold-run.ts'

export function* heldRun(context: VerbContext, { runId, leaseHash }: LeaseHold): Verb<Run> {
  const run = yield* selectRun(runId)
  if (run === null) throw runNotFound(runId)
  checkHolder(run, leaseHash, context.now())
  return run
}

/** Under the subject's lock: nobody can take the run between the check and the audit row. */
export function* noteGitHubToken(context: VerbContext, note: GitHubTokenNote): Verb<void> {
  const { run } = yield* lockRun(context, note.runId)
  const now = context.now()
  checkHolder(run, note.leaseHash, now)
  const data = {
    repo: note.repo,
    repo_id: note.repoGithubId,
    permissions: note.permissions,
    expires_at: new Date(note.expiresAt).toISOString(),
    round: run.round,
    attempt: run.attempt,
  }
  const audit = { type: 'run.github_token_issued', actor: note.actor, runId: run.id, data } as const
  yield* insertAudit(audit, run.fence, now)
}
