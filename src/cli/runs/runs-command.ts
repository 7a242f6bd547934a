/** `holdfast runs`: list runs; show, rerun or cancel one; its steps. */
import { listAction } from '../output/list-action.ts'
import type { Command } from 'commander'
import { runsQuery } from '../../contract.ts'
import { lastHolder, rerunOfCaller } from '../../audit/last-holder.ts'
import { atStart } from '../../audit/why/names.ts'
import { type Holder, runStates } from '../../domain/run.ts'
import { sentence } from '../../texts/sentences.ts'
import { addConnectionFlags, type Parsed } from '../connection/connection.ts'
import type { ClaimedView, RunView } from '../../contract.ts'
import type { Operations } from '../operations/operations.ts'
import { printFields, printHeading, printQuoted, quotedWidth } from '../output/fields.ts'
import { printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { paintFor } from '../output/paint.ts'
import { addPageFlags, queryOf, showFlagsOfList } from '../connection/query-flags.ts'
import { onRun } from './on-run.ts'
import { aboutText, runFields, runHeading, runsTable } from './runs-table.ts'
import { addStepCommands } from './steps-command.ts'
import type { World } from '../world.ts'

const filters = ['repo', 'pr', 'state', 'type', 'key', 'head_sha'] as const

export function addRunsCommand(program: Command, world: World): void {
  const runs = program
    .command('runs')
    .summary('list runs; show, rerun or cancel one; decide about its steps')
    .description('Runs. Without a command it lists them; the options are those of "list".')
  addList(runs, world)
  addShow(runs, world)
  addRerun(runs, world)
  addCancel(runs, world)
  addStepCommands(runs, world)
  showFlagsOfList(runs)
}

function addList(runs: Command, world: World): void {
  const list = runs
    .command('list', { isDefault: true })
    .summary('list runs, newest first (also without "list")')
    .description('Lists runs, newest first. A run is listed if it matches every filter.')
    .option('--repo <owner/name>', 'only runs of this repository')
    .option('--pr <number>', 'only runs of this pull request')
    .option('--state <state>', `only runs in this state: ${runStates.join(', ')}`)
    .option('--type <type>', 'only runs of this type')
    .option('--key <key>', 'only the run with this key')
    .option('--head-sha <sha>', 'only runs of this head commit: 40 or 64 hex digits')
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
        known: { type: { kind: 'Types of the newest runs', of: newestTypes } },
        page: (operations, wanted) => operations.listRuns(wanted),
      })
    })
}

/** Any type can be claimed, so the runs themselves say which types there are. */
async function newestTypes(operations: Operations): Promise<readonly string[]> {
  const { items } = await operations.listRuns({ limit: 1000 })
  return [...new Set(items.map(({ type }) => type))].toSorted()
}

function addShow(runs: Command, world: World): void {
  const show = runs
    .command('show <id>')
    .summary('show a run')
    .description('Shows a run. For what led to it, use: holdfast why ID')
    .option('--json', 'print the run as JSON')
  addConnectionFlags(show).action(async (id: string, parsed: Parsed) => {
    const isJson = parsed['json'] === true
    const { run, heldStep } = await onRun(world, id, parsed, async (operations, runId) => {
      const found = await operations.run(runId)
      return { run: found, heldStep: isJson ? null : await heldStepOf(operations, found) }
    })
    if (isJson) return printJson(world.terminal, run)
    await printRun(world, run, heldStep)
  })
}

/** The name of the step that the run waits for; null if there is none. */
async function heldStepOf(operations: Operations, { id, state }: RunView): Promise<string | null> {
  if (state !== 'waiting') return null
  const { items } = await operations.listSteps(id, {})
  return items.find((step) => step.state === 'held')?.name ?? null
}

async function printRun(
  { terminal, clock }: World,
  run: RunView,
  heldStep: string | null,
): Promise<void> {
  const now = clock.wallMs()
  printHeading(terminal, runHeading(run, now, heldStep))
  printFields(terminal, runFields(run, now, heldStep))
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
    .summary('run it again')
    .description(
      'Runs it again, as its next round: now, or when the current round has ended. Only the ' +
        'newest run of a pull request or subject can be rerun.',
    )
    .option('--json', 'print the decision as JSON')
  addConnectionFlags(rerun).action(async (id: string, parsed: Parsed) => {
    const isJson = parsed['json'] === true
    const { holder, answer } = await onRun(world, id, parsed, async (operations, runId) => {
      const rows = isJson ? [] : (await operations.runAudit(runId, { limit: 1000 })).items
      return { holder: lastHolder(rows), answer: await operations.rerunRun(runId) }
    })
    if (isJson) return printJson(world.terminal, answer)
    printText(world.terminal, `${rerunText(answer, holder)}\n`)
  })
}

function addCancel(runs: Command, world: World): void {
  const cancel = runs
    .command('cancel <id>')
    .summary('cancel a run')
    .description('Cancels a run. It ends now; its worker learns of it at its next heartbeat.')
    .option('--json', 'print the run as JSON')
  addConnectionFlags(cancel).action(async (id: string, parsed: Parsed) => {
    const run = await onRun(world, id, parsed, (operations, runId) => operations.cancelRun(runId))
    if (parsed['json'] === true) return printJson(world.terminal, run)
    printText(world.terminal, `${run.id} (${aboutText(run)}) is ${run.state}.\n`)
  })
}

/** `holder`: who held the run before. */
function rerunText(answer: ClaimedView, holder: Holder | null): string {
  const { should_process: now, reason, run, run_key: key } = answer
  if (run === null) return `${key}: ${reason}`
  const name = `${run.id} (${aboutText(run)})`
  const note = holder === 'caller' ? ` ${sentence(atStart(rerunOfCaller))}` : ''
  if (now) return `${name} is ${run.state} again in round ${run.round}.${note}`
  return isActive(run)
    ? `${name} is ${run.state}; it runs again when this round has ended.${note}`
    : `${name} is ${run.state}: ${reason}.`
}

function isActive({ state }: RunView): boolean {
  return state === 'pending' || state === 'running' || state === 'waiting'
}
