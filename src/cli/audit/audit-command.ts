/** `holdfast audit`: lists audit events, and shows new ones as they happen. */
import { listAction } from '../output/list-action.ts'
import type { Command } from 'commander'
import { auditQuery } from '../../contract.ts'
import { auditTypes } from '../../domain/audit.ts'
import { addConnectionFlags, textOf, type Parsed } from '../connection/connection.ts'
import { UsageError } from '../failure.ts'
import { auditTable } from './audit-table.ts'
import { tailAudit } from './audit-tail.ts'
import { withOperations } from '../operations/open-operations.ts'
import { addPageFlags, queryOf, showFlagsOfList } from '../connection/query-flags.ts'
import type { World } from '../world.ts'

const filters = ['run', 'delivery', 'type', 'since', 'until'] as const

export function addAuditCommand(program: Command, world: World): void {
  const audit = program
    .command('audit')
    .summary('list what happened and who did it; follow it live')
    .description(
      'The audit: what happened, to what, and who did it. Without a command it lists events; the ' +
        'options are those of "list".',
    )
  addList(audit, world)
  addTail(audit, world)
  showFlagsOfList(audit)
}

function addList(audit: Command, world: World): void {
  const list = audit
    .command('list', { isDefault: true })
    .summary('list events, newest first (also without "list")')
    .description('Lists audit events, newest first. An event is listed if it matches every filter.')
    .option('--run <id>', 'only events of this run')
    .option('--delivery <id>', 'only events of this delivery')
    .option('--type <type>', 'only events of this type, such as run.claimed')
    .option('--since <time>', 'only events at this time or later: RFC 3339 with a zone')
    .option('--until <time>', 'only events before this time')
  addConnectionFlags(addPageFlags(list).option('--json', 'print {"items":[…],"next_cursor"}'))
    .addHelpText(
      'after',
      `
Examples:
  holdfast audit --limit 20
  holdfast audit --run run_01kf… --json
  holdfast audit --type run.failed --since 2026-01-31T00:00:00Z`,
    )
    .action(async (parsed: Parsed) => {
      const query = queryOf(auditQuery, filters, parsed)
      await listAction(world, parsed, {
        query,
        shape: auditTable,
        noun: 'events',
        known: { type: { kind: null, of: () => auditTypes } },
        page: (operations, wanted) => operations.listAudit(wanted),
      })
    })
}

function addTail(audit: Command, world: World): void {
  const tail = audit
    .command('tail')
    .summary('show events as they happen, until interrupted')
    .description(
      'Shows events as they happen, each once and in order, until interrupted. If the server ' +
        'does not answer, it waits and continues where it was.',
    )
    .option(
      '-n, --last <number>',
      'start with this many of the latest events, 0 to 1000 (default: 10)',
    )
    .option('--run <id>', 'only events of this run')
    .option('--delivery <id>', 'only events of this delivery')
    .option('--type <type>', 'only events of this type')
    .option('--json', 'print one JSON object per line')
  addConnectionFlags(tail)
    .addHelpText(
      'after',
      `
Examples:
  holdfast audit tail
  holdfast audit tail -n 100 --type run.failed
  holdfast audit tail -n 0 --json --url http://127.0.0.1:8787`,
    )
    .action(async (parsed: Parsed) => {
      const { run, delivery, type } = queryOf(auditQuery, ['run', 'delivery', 'type'], parsed)
      const last = lastOf(textOf(parsed, 'last'))
      await withOperations(world, parsed, (operations) =>
        tailAudit(world, operations, {
          filter: { run, delivery, type },
          last,
          json: parsed['json'] === true,
        }),
      )
    })
}

function lastOf(text = '10'): number {
  if (/^\d{1,4}$/.test(text) && Number(text) <= 1000) return Number(text)
  throw new UsageError('-n (--last) must be a whole number from 0 to 1000')
}
