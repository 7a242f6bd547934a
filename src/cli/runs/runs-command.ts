/** `holdfast runs`: look at runs, do one again, call one off. */
import { listAction } from '../output/list-action.ts'
import type { Command } from 'commander'
import { runsQuery } from '../../http/contract.ts'
import { runStates } from '../../domain/run.ts'
import { addConnectionFlags, type Parsed } from '../connection/connection.ts'
import { withHint } from '../failure.ts'
import { withOperations } from '../operations/open-operations.ts'
import type { ClaimedView, Operations, RunView } from '../operations/operations.ts'
import { printFields, printHeading, printQuoted, quotedWidth } from '../output/fields.ts'
import { printJson } from '../output/json.ts'
import { paintFor } from '../output/paint.ts'
import { addPageFlags, checkId, queryOf } from '../connection/query-flags.ts'
import { aboutText, runFields, runHeading, runsTable } from './runs-table.ts'
import type { World } from '../world.ts'

const filters = ['repo', 'pr', 'state', 'type', 'key', 'head_sha'] as const

export function addRunsCommand(program: Command, world: World): void {
  const runs = program
    .command('runs')
    .summary('list runs, show one, do one again or call one off')
    .description('Runs: list them, show one, do one again or call one off.')
  addList(runs, world)
  addShow(runs, world)
  addRerun(runs, world)
  addCancel(runs, world)
}

function addList(runs: Command, world: World): void {
  const list = runs
    .command('list', { isDefault: true })
    .summary('list runs, newest first (also without "list")')
    .description('Lists runs, newest first. Filters narrow each other.')
    .option('--repo <owner/name>', 'only of this repository')
    .option('--pr <number>', 'only of this pull request')
    .option('--state <state>', `only in this state: ${runStates.join(', ')}`)
    .option('--type <type>', 'only of this type')
    .option('--key <key>', 'only with this key')
    .option('--head-sha <sha>', 'only on this head: 40 or 64 hex digits')
  addConnectionFlags(addPageFlags(list).option('--json', 'print {"items":[…],"next_cursor"}'))
    .addHelpText(
      'after',
      `
Examples:
  holdfast runs
  holdfast runs --repo acme/widgets --pr 5
  holdfast runs --state failed --all --json | jq -r '.items[].id'`,
    )
    .action(async (parsed: Parsed) => {
      const query = queryOf(runsQuery, filters, parsed)
      await listAction(world, parsed, {
        query,
        shape: runsTable,
        noun: 'runs',
        page: (operations, wanted) => operations.listRuns(wanted),
      })
    })
}

function addShow(runs: Command, world: World): void {
  const show = runs
    .command('show <id>')
    .summary('show everything about a run')
    .description('Shows everything about a run. What led to it is told by: holdfast why ID')
    .option('--json', 'print the run as JSON')
  addConnectionFlags(show).action(async (id: string, parsed: Parsed) => {
    const run = await onRun(world, id, parsed, (operations, runId) => operations.run(runId))
    if (parsed['json'] === true) return printJson(world.terminal, run)
    await printRun(world, run)
  })
}

async function printRun({ terminal, clock }: World, run: RunView): Promise<void> {
  const now = clock.wallMs()
  printHeading(terminal, runHeading(run, now))
  printFields(terminal, runFields(run, now))
  const { columns } = terminal
  if (columns === null || run.summary === null) return
  const { markdownLines } = await import('../output/markdown.ts')
  terminal.out('\nSummary:\n')
  const paint = paintFor(terminal.colour)
  printQuoted(terminal, markdownLines(run.summary, quotedWidth(columns), paint))
}

function addRerun(runs: Command, world: World): void {
  const rerun = runs
    .command('rerun <id>')
    .summary('do a run again')
    .description(
      'Does a run again, in its next round: now, or when the round under way has ended. Only the ' +
        'newest of its subject can be done again.',
    )
    .option('--json', 'print the decision as JSON')
  addConnectionFlags(rerun).action(async (id: string, parsed: Parsed) => {
    const answer = await onRun(world, id, parsed, (operations, runId) => operations.rerunRun(runId))
    if (parsed['json'] === true) return printJson(world.terminal, answer)
    world.terminal.out(`${rerunText(answer)}\n`)
  })
}

function addCancel(runs: Command, world: World): void {
  const cancel = runs
    .command('cancel <id>')
    .summary('call a run off')
    .description('Calls a run off. It ends now; its holder is told at its next heartbeat.')
    .option('--json', 'print the run as JSON')
  addConnectionFlags(cancel).action(async (id: string, parsed: Parsed) => {
    const run = await onRun(world, id, parsed, (operations, runId) => operations.cancelRun(runId))
    if (parsed['json'] === true) return printJson(world.terminal, run)
    world.terminal.out(`${run.id} (${aboutText(run)}) is ${run.state}.\n`)
  })
}

/** An unknown id is told with the command that lists what there is. */
async function onRun<T>(
  world: World,
  id: string,
  parsed: Parsed,
  work: (operations: Operations, runId: string) => Promise<T>,
): Promise<T> {
  const runId = checkId(id)
  return await withOperations(world, parsed, (operations) =>
    withHint(work(operations, runId), {
      run_not_found: 'It may be past its retention. List what there is: holdfast runs',
      not_current: `Find the newest of its subject: holdfast runs show ${runId}`,
    }),
  )
}

function rerunText({ should_process: now, reason, run, run_key: key }: ClaimedView): string {
  if (run === null) return `${key}: ${reason}`
  const name = `${run.id} (${aboutText(run)})`
  if (now) return `${name} is ${run.state} again, round ${run.round}.`
  return isActive(run)
    ? `${name} is ${run.state}; it is done again when this round has ended.`
    : `${name} is ${run.state}: ${reason}.`
}

function isActive({ state }: RunView): boolean {
  return state === 'pending' || state === 'running' || state === 'waiting'
}
