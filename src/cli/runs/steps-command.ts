/** `holdfast runs steps` and `holdfast runs step`: list the steps of a run; decide about one. */
import type { Command } from 'commander'
import { heldStepChoices } from '../../audit/held-step.ts'
import { confirmStepBody, failStepBody, stepParams, stepsQuery } from '../../contract.ts'
import type { ConfirmStepBody, DecidedStepView, StepView } from '../../contract.ts'
import { addConnectionFlags, textOf, type Parsed } from '../connection/connection.ts'
import { checkFlags } from '../connection/query-flags.ts'
import { UsageError } from '../failure.ts'
import type { Operations } from '../operations/operations.ts'
import { printNote, printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { printList } from '../output/list.ts'
import type { World } from '../world.ts'
import { onRun } from './on-run.ts'
import { aboutText } from './runs-table.ts'
import { stepsTable } from './steps-table.ts'

export function addStepCommands(runs: Command, world: World): void {
  addList(runs, world)
  const step = runs
    .command('step')
    .summary('decide about a step that only a person can decide about')
    .description(
      'A held step was begun and left no result, so nobody knows whether it was done. Find out, ' +
        'then decide. The run goes on in the same attempt.',
    )
  addConfirm(step, world)
  addRepeat(step, world)
  addFail(step, world)
}

function addList(runs: Command, world: World): void {
  const list = runs
    .command('steps <run>')
    .summary('list the steps of a run')
    .description(
      'Lists the steps of a run in the order in which they were begun. If one is held, it says ' +
        'what to decide, and how.',
    )
    .option('--round <number>', 'the steps of this round (default: the current one)')
    .option('--json', 'print {"items":[…],"next_cursor"}')
  addConnectionFlags(list).action(async (id: string, parsed: Parsed) => {
    const query = checkFlags(stepsQuery, ['round'], parsed)
    await onRun(world, id, parsed, async (operations, runId) => {
      const listed = await operations.listSteps(runId, query)
      const json = parsed['json'] === true
      await printList({
        terminal: world.terminal,
        nowMs: world.clock.wallMs(),
        json,
        all: false,
        cursor: undefined,
        shape: stepsTable,
        noun: 'steps',
        pageAt: () => Promise.resolve(listed),
      })
      const held = listed.items.find(({ state }) => state === 'held')
      if (held !== undefined && !json) await printChoices(world, operations, held)
    })
  })
}

/** Only if the run still waits: after it has ended, nothing can be decided. */
async function printChoices(world: World, operations: Operations, held: StepView): Promise<void> {
  const { terminal } = world
  const { state, round } = await operations.run(held.run_id)
  if (state !== 'waiting' || round !== held.round) return
  const choices = heldStepChoices(held.run_id, held)
  const lines = choices.map(({ text, command }) => `- ${text}:\n    ${command}\n`)
  const text = ["\nThe run waits for a person's decision.\n", ...lines].join('')
  if (terminal.columns === null) printNote(terminal, text.trimStart())
  else printText(terminal, text)
}

function addConfirm(step: Command, world: World): void {
  const confirm = step
    .command('confirm <run> <step>')
    .summary('say that a held step was done')
    .description('Says that a held step was done. The run goes on with the result that you give.')
    .option('--result <json>', 'what the step returned, as JSON (default: null)')
    .option('--json', 'print {"step","run"} as JSON')
  addConnectionFlags(confirm)
    .addHelpText(
      'after',
      `
Example:
  holdfast runs step confirm run_01m7gsy7fk6bdsn606m36w5wgd charge --result '{"id":7}'`,
    )
    .action(async (id: string, given: string, parsed: Parsed) => {
      const [name, body] = [checkStep(given), resultOf(parsed)]
      const decided = await onRun(world, id, parsed, (operations, runId) =>
        operations.confirmStep(runId, name, body),
      )
      printDecided(world, parsed, decided, 'counts as done')
    })
}

function addRepeat(step: Command, world: World): void {
  const repeat = step
    .command('repeat <run> <step>')
    .summary('say that a held step was not done')
    .description('Says that a held step was not done. The run does it again, with the same key.')
    .option('--json', 'print {"step","run"} as JSON')
  addConnectionFlags(repeat).action(async (id: string, given: string, parsed: Parsed) => {
    const name = checkStep(given)
    const decided = await onRun(world, id, parsed, (operations, runId) =>
      operations.repeatStep(runId, name),
    )
    printDecided(world, parsed, decided, 'is done again')
  })
}

function addFail(step: Command, world: World): void {
  const fail = step
    .command('fail <run> <step>')
    .summary('let a held step fail')
    .description('Lets a held step fail. The run goes on and gets the error step_failed for it.')
    .option('--text <text>', 'why, for people')
    .option('--json', 'print {"step","run"} as JSON')
  addConnectionFlags(fail).action(async (id: string, given: string, parsed: Parsed) => {
    const [name, body] = [checkStep(given), checkFlags(failStepBody.unwrap(), ['text'], parsed)]
    const decided = await onRun(world, id, parsed, (operations, runId) =>
      operations.failStep(runId, name, body),
    )
    printDecided(world, parsed, decided, 'has failed')
  })
}

function printDecided(
  world: World,
  parsed: Parsed,
  decided: DecidedStepView,
  outcome: string,
): void {
  if (parsed['json'] === true) return printJson(world.terminal, decided)
  const { step, run } = decided
  const next = run.state === 'pending' ? 'waits for a worker' : `is ${run.state}`
  const text = `The step ${step.name} of ${run.id} (${aboutText(run)}) ${outcome}. The run ${next}.`
  printText(world.terminal, `${text}\n`)
}

/** The name of a step; it becomes part of a path. */
function checkStep(text: string): string {
  const { name } = stepParams.shape
  const checked = name.safeParse(text)
  if (checked.success) return checked.data
  throw new UsageError(`The name of a step ${checked.error.issues[0]?.message ?? 'is wrong'}`)
}

function resultOf(parsed: Parsed): ConfirmStepBody {
  const text = textOf(parsed, 'result')
  if (text === undefined) return {}
  const checked = confirmStepBody.unwrap().safeParse({ result: jsonOf(text) })
  if (checked.success) return checked.data
  throw new UsageError(`--result ${checked.error.issues[0]?.message ?? 'is wrong'}`)
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(
      '--result must be JSON',
      `For an object: --result '{"id":7}'. For a text: --result '"ok"'`,
    )
  }
}
