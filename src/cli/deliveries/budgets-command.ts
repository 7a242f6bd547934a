/** `holdfast budgets`: shows how much each identity wrote and may write, and lifts a block. */
import type { Command } from 'commander'
import { addConnectionFlags, type Parsed } from '../connection/connection.ts'
import { withOperations } from '../operations/open-operations.ts'
import type { BudgetList } from '../../contract.ts'
import { printNote } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { tablePrinter, type TableShape } from '../output/table.ts'
import { relativeTime } from '../output/time-text.ts'
import { checkIdentity, showFlagsOfList } from '../connection/query-flags.ts'
import type { World } from '../world.ts'

type BudgetView = BudgetList['items'][number]

export function addBudgetsCommand(program: Command, world: World): void {
  const budgets = program
    .command('budgets')
    .summary('how much is and may be written to GitHub; lift a block')
    .description(
      'Budgets: how much each identity may write to GitHub, and which are blocked. Without a ' +
        'command it lists them; the options are those of "list".',
    )
  addList(budgets, world)
  addUnblock(budgets, world)
  showFlagsOfList(budgets)
}

function addList(budgets: Command, world: World): void {
  const list = budgets
    .command('list', { isDefault: true })
    .summary('list all identities (also without "list")')
    .description(
      'Shows for each identity that writes to GitHub how much it wrote in the last minute and ' +
        'hour, how much it may write, and until when GitHub asked it to wait.',
    )
    .option('--json', 'print {"items":[…]}')
  addConnectionFlags(list)
    .addHelpText(
      'after',
      `
Examples:
  holdfast budgets
  holdfast budgets --json --url http://127.0.0.1:8787`,
    )
    .action(async (parsed: Parsed) => {
      const answer = await withOperations(world, parsed, (operations) => operations.budgets())
      if (parsed['json'] === true) return printJson(world.terminal, answer)
      tablePrinter(world.terminal, budgetsTable, world.clock.wallMs()).print(answer.items)
      if (answer.items.length === 0)
        printNote(world.terminal, 'No budgets: nothing has been written yet.\n')
    })
}

function addUnblock(budgets: Command, world: World): void {
  const unblock = budgets
    .command('unblock <identity>')
    .summary('lift a block and send what waits')
    .description(
      'Lifts the block of an identity. What waits is sent now; if GitHub still asks it to wait, ' +
        'it is blocked again.',
    )
    .option('--json', 'print the budget')
  addConnectionFlags(unblock)
    .addHelpText(
      'after',
      `
Examples:
  holdfast budgets unblock github:user
  holdfast budgets unblock github:installation:7`,
    )
    .action(async (given: string, parsed: Parsed) => {
      const identity = checkIdentity(given)
      const lifted = await withOperations(world, parsed, (operations) =>
        operations.unblockIdentity(identity),
      )
      if (parsed['json'] === true) return printJson(world.terminal, lifted)
      world.terminal.out(`${lifted.identity} is no longer blocked.\n`)
    })
}

const useText = ({ used, limit }: BudgetView['minute']): string =>
  limit === null ? String(used) : `${used} of ${limit}`

const blockReasons: Readonly<Record<string, string>> = {
  rate_limited: "GitHub's rate limit",
  unauthorized: 'GitHub refuses the credentials',
  not_installed: 'the GitHub App is not installed there',
}

/** `for 50 s: GitHub's rate limit` */
function blockedText({ blocked_until: until, blocked_reason: reason }: BudgetView, now: number) {
  if (until === null) return ''
  const length = relativeTime(until, now).replace('in ', 'for ')
  return reason === null ? length : `${length}: ${blockReasons[reason] ?? reason}`
}

const budgetsTable: TableShape<BudgetView> = {
  screen: [
    { title: 'IDENTITY', of: ({ identity }) => identity, cut: 'middle' },
    { title: 'MINUTE', of: ({ minute }) => useText(minute) },
    { title: 'HOUR', of: ({ hour }) => useText(hour) },
    {
      title: 'BLOCKED',
      of: blockedText,
      style: () => 'red',
      label: 'blocked',
      below: 2,
    },
    {
      title: 'LAST WRITE',
      of: ({ last_write_at: at }, now) => (at === null ? '' : relativeTime(at, now)),
      style: () => 'dim',
      label: 'last write',
      below: 1,
    },
  ],
  plain: [
    ['identity', (budget) => budget.identity],
    ['blocked_until', (budget) => budget.blocked_until],
    ['blocked_reason', (budget) => budget.blocked_reason],
    ['last_write_at', (budget) => budget.last_write_at],
    ['minute_used', ({ minute }) => minute.used],
    ['minute_progress', ({ minute }) => minute.progress],
    ['minute_limit', ({ minute }) => minute.limit],
    ['hour_used', ({ hour }) => hour.used],
    ['hour_progress', ({ hour }) => hour.progress],
    ['hour_limit', ({ hour }) => hour.limit],
    ['spacing_ms', (budget) => budget.spacing_ms],
  ],
}
