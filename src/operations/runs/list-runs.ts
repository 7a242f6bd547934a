/** Runs, newest first. A limited token sees those within its limits. */
import type { RunList, RunsQuery } from '../../contract/runs.ts'
import { runPage } from '../../contract/run-view.ts'
import { limitsOf } from '../caller.ts'
import { emptyPage, given, pageOf } from '../listing.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const listRuns = operation(
  { scopes: ['operator', 'worker', 'read'], within: 'itself' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    query: RunsQuery,
  ): Promise<RunList> => {
    const { repo, pr, issue, task, state, type, key, head_sha: headSha } = query
    // No run belongs to an issue or a task yet.
    if (issue !== undefined || task !== undefined) return emptyPage
    const filter = given({ repo, pr, state, type, key, headSha, within: limitsOf(caller) })
    return await runPage(store, await runs.list(filter, pageOf(query)))
  },
)
