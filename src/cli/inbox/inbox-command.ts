/** `holdfast inbox`: what GitHub sent, what it led to, and processing it again. */
import { listAction } from '../output/list-action.ts'
import type { Command } from 'commander'
import { inboxDecisions, inboxStates } from '../../domain/inbox.ts'
import { inboxQuery } from '../../contract.ts'
import { addConnectionFlags, type Parsed } from '../connection/connection.ts'
import { withHint } from '../failure.ts'
import { inboxFields, inboxHeading, inboxTable } from './inbox-table.ts'
import { withOperations } from '../operations/open-operations.ts'
import { printFields, printHeading } from '../output/fields.ts'
import { printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { addPageFlags, checkId, queryOf, showFlagsOfList } from '../connection/query-flags.ts'
import type { World } from '../world.ts'

const filters = ['state', 'decision', 'event', 'repo', 'number', 'webhook_id'] as const

/** A sender other than GitHub may use any text as its GUID, so no text is refused for its form. */
function notFound(id: string) {
  const list = 'List webhooks: holdfast inbox'
  const hint = /^inb_|^[0-9a-f]{8}-/i.test(id)
    ? `It may have been removed after its retention time. ${list}`
    : 'An id looks like inb_01m7gsy7fk6bdsn606m36w5wgd, and a GUID of GitHub like ' +
      `72d3162e-cc78-11e3-81ab-4c9367dc0958. ${list}`
  return { inbox_entry_not_found: hint }
}

export function addInboxCommand(program: Command, world: World): void {
  const inbox = program
    .command('inbox')
    .summary('list webhooks; show one, process one again')
    .description(
      'Webhooks that GitHub sent, and what they led to. Without a command it lists them; the ' +
        'options are those of "list".',
    )
  addList(inbox, world)
  addShow(inbox, world)
  addReplay(inbox, world)
  showFlagsOfList(inbox)
}

function addList(inbox: Command, world: World): void {
  const list = inbox
    .command('list', { isDefault: true })
    .summary('list webhooks, newest first (also without "list")')
    .description('Lists webhooks, newest first. A webhook is listed if it matches every filter.')
    .option('--state <state>', `only webhooks in this state: ${inboxStates.join(', ')}`)
    .option(
      '--decision <decision>',
      `only webhooks with this decision: ${inboxDecisions.join(', ')}`,
    )
    .option('--event <event>', 'only this GitHub event, such as pull_request')
    .option('--repo <owner/name>', 'only webhooks of this repository')
    .option('--number <number>', 'only webhooks of this pull request or issue')
    .option('--webhook-id <guid>', "only the webhook with this GUID of GitHub's")
  addConnectionFlags(addPageFlags(list).option('--json', 'print {"items":[…],"next_cursor"}'))
    .addHelpText(
      'after',
      `
Examples:
  holdfast inbox
  holdfast inbox --state waiting
  holdfast inbox --repo acme/widgets --number 5 --decision ignored`,
    )
    .action(async (parsed: Parsed) => {
      const query = queryOf(inboxQuery, filters, parsed)
      await listAction(world, parsed, {
        query,
        shape: inboxTable,
        noun: 'webhooks',
        page: (operations, wanted) => operations.listInbox(wanted),
      })
    })
}

function addShow(inbox: Command, world: World): void {
  const show = inbox
    .command('show <id>')
    .summary('show a webhook, by its id or GUID')
    .description(
      "Shows a webhook and what it led to, by its id or GitHub's GUID of the delivery. --json " +
        'adds its headers and payload.',
    )
    .option('--json', 'print everything as JSON, with headers and payload')
  addConnectionFlags(show).action(async (given: string, parsed: Parsed) => {
    const id = checkId(given)
    const entry = await withOperations(world, parsed, (operations) =>
      withHint(operations.inboxEntry(id), notFound(id)),
    )
    if (parsed['json'] === true) return printJson(world.terminal, entry)
    printHeading(world.terminal, inboxHeading(entry))
    printFields(world.terminal, inboxFields(entry, world.clock.wallMs()))
  })
}

function addReplay(inbox: Command, world: World): void {
  const replay = inbox
    .command('replay <id>')
    .summary('process a webhook again')
    .description(
      'Processes a webhook again from its stored body, with the current configuration. A run ' +
        'that it already led to is not made twice. A server does it; while no server is active, ' +
        'the webhook waits.',
    )
    .option('--json', 'print the webhook as JSON')
  addConnectionFlags(replay).action(async (given: string, parsed: Parsed) => {
    const id = checkId(given)
    const entry = await withOperations(world, parsed, (operations) =>
      withHint(operations.replayInboxEntry(id), notFound(id)),
    )
    if (parsed['json'] === true) return printJson(world.terminal, entry)
    const text = `${entry.id} is ${entry.state}. Show it: holdfast inbox show ${entry.id}\n`
    printText(world.terminal, text)
  })
}
