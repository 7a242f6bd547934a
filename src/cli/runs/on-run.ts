/** Does something with one run. For an unknown id, names the command that lists the known ones. */
import { readQuestion } from '../../audit/why/question.ts'
import type { Parsed } from '../connection/connection.ts'
import { checkId, unknownIdHint } from '../connection/query-flags.ts'
import { withHint } from '../failure.ts'
import { withOperations } from '../operations/open-operations.ts'
import type { Operations } from '../operations/operations.ts'
import type { World } from '../world.ts'

export async function onRun<T>(
  world: World,
  id: string,
  parsed: Parsed,
  work: (operations: Operations, runId: string) => Promise<T>,
): Promise<T> {
  const runId = checkId(id, listHint(id))
  const steps = `holdfast runs steps ${runId}`
  return await withOperations(world, parsed, (operations) =>
    withHint(work(operations, runId), {
      run_not_found: unknownIdHint('run', runId),
      not_current: `What it is about: holdfast runs show ${runId}`,
      step_not_found: `List its steps: ${steps}`,
      step_not_held: `What its steps are now: ${steps}`,
    }),
  )
}

/** How to find the id of a run, also for whoever names a pull request instead. */
function listHint(given: string): string {
  const asked = readQuestion(given)
  if (asked?.of !== 'thread') return 'List runs: holdfast runs'
  return `List its runs: holdfast runs --repo ${asked.repo} --pr ${asked.number}`
}
