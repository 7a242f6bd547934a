/** `holdfast deliveries`: lists deliveries; shows, retries, skips or confirms one. */
import { listAction } from '../output/list-action.ts'
import type { Command } from 'commander'
import { githubChannels } from '../../channels/github-channels.ts'
import { deliveryStatuses, deliveryWaits } from '../../domain/outbox/delivery.ts'
import { confirmBody, deliveriesQuery, retryManyBody, skipBody } from '../../contract.ts'
import { addConnectionFlags, type Parsed } from '../connection/connection.ts'
import {
  attemptsTable,
  deliveriesTable,
  deliveryFields,
  deliveryHeading,
  statusText,
} from './deliveries-table.ts'
import { UsageError, withHint } from '../failure.ts'
import { withOperations } from '../operations/open-operations.ts'
import type { DeliveryView, DeliveryWithAttemptsView } from '../../contract.ts'
import type { Operations } from '../operations/operations.ts'
import { printFields, printHeading, printQuoted, quotedWidth } from '../output/fields.ts'
import { printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { paintFor } from '../output/paint.ts'
import { tablePrinter } from '../output/table.ts'
import {
  addPageFlags,
  checkFlags,
  checkId,
  queryOf,
  showFlagsOfList,
  unknownIdHint,
} from '../connection/query-flags.ts'
import type { World } from '../world.ts'

const filters = ['status', 'wait', 'channel', 'run'] as const
/** The most deliveries that one request retries. */
const retriedMax = 1000
const retryFilters = ['status', 'channel', 'run'] as const

export function addDeliveriesCommand(program: Command, world: World): void {
  const deliveries = program
    .command('deliveries')
    .summary('list deliveries; show, retry, skip or confirm one')
    .description(
      'Deliveries: what Holdfast publishes on GitHub. Without a command it lists them; the ' +
        'options are those of "list".',
    )
  addList(deliveries, world)
  addShow(deliveries, world)
  addRetry(deliveries, world)
  addSkip(deliveries, world)
  addConfirm(deliveries, world)
  showFlagsOfList(deliveries)
}

function addList(deliveries: Command, world: World): void {
  const list = deliveries
    .command('list', { isDefault: true })
    .summary('list deliveries, newest first (also without "list")')
    .description('Lists deliveries, newest first. A delivery is listed if it matches every filter.')
    .option('--status <status>', `only deliveries with this status: ${deliveryStatuses.join(', ')}`)
    .option('--wait <wait>', `only deliveries that wait like this: ${deliveryWaits.join(', ')}`)
    .option('--channel <channel>', `only deliveries on this channel: ${githubChannels.join(', ')}`)
    .option('--run <id>', 'only deliveries of this run')
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
        known: { channel: { kind: 'Channels', of: () => githubChannels } },
        page: (operations, wanted) => operations.listDeliveries(wanted),
      })
    })
}

function addShow(deliveries: Command, world: World): void {
  const show = deliveries
    .command('show <id>')
    .summary('show a delivery and its attempts')
    .description(
      'Shows what people see of a delivery on GitHub, its state and its attempts. For what led ' +
        'to it, use: holdfast why ID',
    )
    .option('--json', 'print the delivery as JSON')
  addConnectionFlags(show).action(async (given: string, parsed: Parsed) => {
    const id = checkId(given)
    const found = await onDelivery(world, parsed, id, (operations) => operations.delivery(id))
    if (parsed['json'] === true) return printJson(world.terminal, found)
    await printDelivery(world, found)
  })
}

/** On a terminal: what people see on GitHub, its state, and each attempt. */
async function printDelivery(
  { terminal, clock }: World,
  found: DeliveryWithAttemptsView,
): Promise<void> {
  const now = clock.wallMs()
  const fields = deliveryFields(found, now)
  const { columns } = terminal
  if (columns === null) {
    printFields(terminal, fields)
    return
  }
  printHeading(terminal, deliveryHeading(found))
  const { previewLines } = await import('./delivery-preview.ts')
  const page = { width: quotedWidth(columns), paint: paintFor(terminal.colour) }
  printQuoted(terminal, previewLines(found, page))
  terminal.out('\n')
  printFields(terminal, fields)
  if (found.attempts.length > 0) terminal.out('\nAttempts, newest first:\n')
  tablePrinter(terminal, attemptsTable, now).print(found.attempts)
}

function addRetry(deliveries: Command, world: World): void {
  const retry = deliveries
    .command('retry [id]')
    .summary('send a delivery again, or all that failed')
    .description(
      'Sends a delivery again, now and with a new deadline. If it may have arrived, Holdfast ' +
        'asks GitHub first. With --all: every delivery that failed, or that the filters match. A ' +
        'server sends it; while no server is active, it waits.',
    )
    .option('--all', 'every delivery that failed, and that these match:')
    .option('--status <status>', 'FAILED (default) or SKIPPED')
    .option('--channel <channel>', `only deliveries on this channel: ${githubChannels.join(', ')}`)
    .option('--run <id>', 'only deliveries of this run')
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
      if (given === undefined) throw new UsageError('Name a delivery, or give --all')
      const filter = retryFilters.find((name) => parsed[name] !== undefined)
      if (filter !== undefined)
        throw new UsageError(`--${filter} goes with --all, not with one delivery`)
      const id = checkId(given)
      const item = await onDelivery(world, parsed, id, (operations) => operations.retryDelivery(id))
      printStatus(world, parsed, item)
    })
}

async function retryAll(world: World, given: string | undefined, parsed: Parsed): Promise<void> {
  if (given !== undefined) throw new UsageError('Name a delivery or give --all, not both')
  const filter = checkFlags(retryManyBody.unwrap(), retryFilters, parsed)
  const count = await withOperations(world, parsed, async (operations) => {
    let sum = 0
    for (;;) {
      const { count: retried } = await operations.retryDeliveries(filter)
      sum += retried
      // Not until none is left: a delivery that fails again at once would be retried for ever.
      if (retried < retriedMax) return sum
    }
  })
  if (parsed['json'] === true) printJson(world.terminal, { count })
  else {
    const what = count === 1 ? 'delivery is' : 'deliveries are'
    world.terminal.out(`${count === 0 ? 'No' : count} ${what} sent again.\n`)
  }
}

function addSkip(deliveries: Command, world: World): void {
  const skip = deliveries
    .command('skip <id>')
    .summary('do not send a delivery')
    .description('Closes a delivery without sending it. A newer version of it is sent again.')
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
      const item = await onDelivery(world, parsed, id, (operations) =>
        operations.skipDelivery(id, reason),
      )
      printStatus(world, parsed, item)
    })
}

function addConfirm(deliveries: Command, world: World): void {
  const confirm = deliveries
    .command('confirm <id>')
    .summary('say that a delivery has arrived')
    .description(
      'Marks a delivery as sent because you have seen it on GitHub. With an id, Holdfast asks ' +
        'GitHub whether its own account made it for this delivery, on that thread or commit, ' +
        'because the next version overwrites it; without --url this needs the GitHub ' +
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
      const item = await onDelivery(world, parsed, id, (operations) =>
        operations.confirmDelivery(id, body),
      )
      printStatus(world, parsed, item)
    })
}

function printStatus(world: World, parsed: Parsed, item: DeliveryView): void {
  if (parsed['json'] === true) return printJson(world.terminal, item)
  printText(world.terminal, `${item.id} (${item.target}) is ${statusText(item)}.\n`)
}

/** For an unknown id, names the command that lists the known ones. */
async function onDelivery<T>(
  world: World,
  parsed: Parsed,
  id: string,
  work: (operations: Operations) => Promise<T>,
): Promise<T> {
  return await withOperations(world, parsed, (operations) =>
    withHint(work(operations), { delivery_not_found: unknownIdHint('del', id) }),
  )
}
