/** `holdfast deliveries`: what has to leave, where it stands, and what a person says about it. */
import { listAction } from '../output/list-action.ts'
import type { Command } from 'commander'
import { githubChannels } from '../../channels/github-channels.ts'
import { deliveryStatuses, deliveryWaits } from '../../domain/outbox/delivery.ts'
import { confirmBody, deliveriesQuery, retryManyBody, skipBody } from '../../http/contract.ts'
import { addConnectionFlags, type Parsed } from '../connection/connection.ts'
import { deliveriesTable, deliveryFields, standText } from './deliveries-table.ts'
import { UsageError, withHint } from '../failure.ts'
import { withOperations } from '../operations/open-operations.ts'
import type { DeliveryView, Operations } from '../operations/operations.ts'
import { printFields } from '../output/fields.ts'
import { printJson } from '../output/json.ts'
import { addPageFlags, checkFlags, checkId, queryOf } from '../connection/query-flags.ts'
import type { World } from '../world.ts'

const filters = ['status', 'wait', 'channel', 'run'] as const
/** As many as one request opens again. */
const atATime = 1000
const retryFilters = ['status', 'channel', 'run'] as const

export function addDeliveriesCommand(program: Command, world: World): void {
  const deliveries = program
    .command('deliveries')
    .summary('list deliveries, show one, retry, skip or confirm one')
    .description('Deliveries: what is shown on GitHub, what is not yet, and why not.')
  addList(deliveries, world)
  addShow(deliveries, world)
  addRetry(deliveries, world)
  addSkip(deliveries, world)
  addConfirm(deliveries, world)
}

function addList(deliveries: Command, world: World): void {
  const list = deliveries
    .command('list', { isDefault: true })
    .summary('list deliveries, newest first (also without "list")')
    .description('Lists deliveries, newest first. Filters narrow each other.')
    .option('--status <status>', `only with this status: ${deliveryStatuses.join(', ')}`)
    .option('--wait <wait>', `only open ones that wait for: ${deliveryWaits.join(', ')}`)
    .option('--channel <channel>', `only on this channel: ${githubChannels.join(', ')}`)
    .option('--run <id>', 'only of this run')
  addConnectionFlags(addPageFlags(list).option('--json', 'print {"items":[…],"next_cursor"}'))
    .addHelpText(
      'after',
      `
Examples:
  holdfast deliveries --status FAILED
  holdfast deliveries --wait in_doubt
  holdfast deliveries --run run_01m7gsy7fk6bdsn606m36w5wgd --json`,
    )
    .action(async (parsed: Parsed) => {
      const query = queryOf(deliveriesQuery, filters, parsed)
      await listAction(world, parsed, {
        query,
        shape: deliveriesTable,
        noun: 'deliveries',
        page: (operations, wanted) => operations.listDeliveries(wanted),
      })
    })
}

function addShow(deliveries: Command, world: World): void {
  const show = deliveries
    .command('show <id>')
    .summary('show a delivery with every try')
    .description(
      'Shows a delivery with what it should show and every try. What led to it is told by: ' +
        'holdfast why ID',
    )
    .option('--json', 'print the delivery as JSON')
  addConnectionFlags(show).action(async (given: string, parsed: Parsed) => {
    const id = checkId(given)
    const found = await onDelivery(world, parsed, (operations) => operations.delivery(id))
    if (parsed['json'] === true) return printJson(world.terminal, found)
    printFields(world.terminal, deliveryFields(found, world.clock.wallMs()))
  })
}

function addRetry(deliveries: Command, world: World): void {
  const retry = deliveries
    .command('retry [id]')
    .summary('send a delivery again, or all that failed')
    .description(
      'Sends a delivery again, at once and with a new deadline; where it may have arrived, it is ' +
        'looked for first. With --all: every one that failed, or that the filters name. A server ' +
        'does the sending; while none runs, it waits for one.',
    )
    .option('--all', 'every one that failed, narrowed by:')
    .option('--status <status>', 'FAILED (default) or SKIPPED')
    .option('--channel <channel>', `only on this channel: ${githubChannels.join(', ')}`)
    .option('--run <id>', 'only of this run')
    .option('--json', 'print the delivery, or {"count"}, as JSON')
  addConnectionFlags(retry)
    .addHelpText(
      'after',
      `
Examples:
  holdfast deliveries retry del_01m7gsy7fk6bdsn606m36w5wgd
  holdfast deliveries retry --all --channel github-comment`,
    )
    .action(async (given: string | undefined, parsed: Parsed) => {
      if (parsed['all'] === true) return await retryAll(world, given, parsed)
      if (given === undefined) throw new UsageError('Name a delivery, or say --all')
      const filter = retryFilters.find((name) => parsed[name] !== undefined)
      if (filter !== undefined) throw new UsageError(`--${filter} narrows --all, not one delivery`)
      const id = checkId(given)
      const told = await onDelivery(world, parsed, (operations) => operations.retryDelivery(id))
      printStanding(world, parsed, told)
    })
}

async function retryAll(world: World, given: string | undefined, parsed: Parsed): Promise<void> {
  if (given !== undefined) throw new UsageError('Name a delivery or say --all, not both')
  const filter = checkFlags(retryManyBody.unwrap(), retryFilters, parsed)
  const count = await withOperations(world, parsed, async (operations) => {
    let sum = 0
    for (;;) {
      const { count: some } = await operations.retryDeliveries(filter)
      sum += some
      // Not until there are none: what fails again at once would be sent again for ever.
      if (some < atATime) return sum
    }
  })
  if (parsed['json'] === true) printJson(world.terminal, { count })
  else {
    const what = count === 1 ? 'delivery is' : 'deliveries are'
    world.terminal.out(`${count} ${what} sent again.\n`)
  }
}

function addSkip(deliveries: Command, world: World): void {
  const skip = deliveries
    .command('skip <id>')
    .summary('leave a delivery unsent')
    .description('Leaves a delivery unsent. A newer version of what it shows opens it again.')
    .requiredOption('--reason <text>', 'why, for people: 1 to 200 characters')
    .option('--json', 'print the delivery as JSON')
  addConnectionFlags(skip)
    .addHelpText(
      'after',
      `
Example:
  holdfast deliveries skip del_01m7gsy7fk6bdsn606m36w5wgd --reason "The repository is archived"`,
    )
    .action(async (given: string, parsed: Parsed) => {
      const id = checkId(given)
      const { reason } = checkFlags(skipBody, ['reason'], parsed)
      const told = await onDelivery(world, parsed, (operations) =>
        operations.skipDelivery(id, reason),
      )
      printStanding(world, parsed, told)
    })
}

function addConfirm(deliveries: Command, world: World): void {
  const confirm = deliveries
    .command('confirm <id>')
    .summary('say that a delivery has arrived')
    .description(
      'Says that you looked and it is there: it counts as sent. With an id, GitHub is asked ' +
        'whether our account made it for this delivery, on that thread or commit, because the ' +
        'next version overwrites it; straight on the database this needs the GitHub ' +
        'credentials. Without an id nothing is asked, and the next version looks for it.',
    )
    .option('--provider-message-id <id>', "GitHub's id of it, such as a comment's")
    .option('--json', 'print the delivery as JSON')
  addConnectionFlags(confirm)
    .addHelpText(
      'after',
      `
Example:
  holdfast deliveries confirm del_01m7gsy7fk6bdsn606m36w5wgd --provider-message-id 2147483648`,
    )
    .action(async (given: string, parsed: Parsed) => {
      const id = checkId(given)
      const body = checkFlags(confirmBody.unwrap(), ['provider_message_id'], parsed)
      const told = await onDelivery(world, parsed, (operations) =>
        operations.confirmDelivery(id, body),
      )
      printStanding(world, parsed, told)
    })
}

function printStanding(world: World, parsed: Parsed, told: DeliveryView): void {
  if (parsed['json'] === true) return printJson(world.terminal, told)
  world.terminal.out(`${told.id} (${told.target}) is ${standText(told)}.\n`)
}

/** An unknown id is told with the command that lists what there is. */
async function onDelivery<T>(
  world: World,
  parsed: Parsed,
  work: (operations: Operations) => Promise<T>,
): Promise<T> {
  return await withOperations(world, parsed, (operations) =>
    withHint(work(operations), {
      delivery_not_found: 'It may be past its retention. List what there is: holdfast deliveries',
    }),
  )
}
