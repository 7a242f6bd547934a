/** `holdfast move`: moves a SQLite store to PostgreSQL, or takes the move back. */
import type { Command } from 'commander'
import { StoreContendedError, StoreUnavailableError } from '../../errors.ts'
import type { MoveAnswer, MoveOptions, MoveProgress, UndoAnswer } from '../../open-store.ts'
import { presentSecretFiles, secretFileNames } from '../../settings/data-folder/server-secrets.ts'
import { describeDatabase, withoutPassword } from '../../settings/describe-settings.ts'
import { options } from '../../settings/options/options.ts'
import type { Settings } from '../../settings/settings.ts'
import { addDatabaseFlags, settingsOf, textOf, type Parsed } from '../connection/connection.ts'
import { UsageError } from '../failure.ts'
import { refuseMemory, requireFile } from '../operations/open-operations.ts'
import { printNote } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { progressOn } from '../output/progress.ts'
import { shellWord } from '../output/shell-word.ts'
import { tablePrinter, type TableShape } from '../output/table.ts'
import type { World } from '../world.ts'
import { storeFailure } from './store-failure.ts'

export function addMoveCommand(program: Command, world: World): void {
  const move = program
    .command('move')
    .summary('move a SQLite store to PostgreSQL')
    .description(
      'Copies everything from the SQLite file that the settings name into an empty PostgreSQL ' +
        'database, compares every row, and then closes the file. Ids, leases, tokens and marker ' +
        'keys are kept, so workers continue where they were. Stop the server and every program ' +
        'that uses the file first. If the move is interrupted, run it again: it continues where ' +
        'it stopped. With --undo it removes the copy and opens the file again, as long as ' +
        'nothing has used the new database.',
    )
    .requiredOption('--to <url>', 'the new database: postgres://USER@HOST/NAME')
    .option('--undo', 'take the move back, or give up one that has not finished')
    .option(
      '--json',
      'print {"outcome","from","to","store_id"}; moved: "moved_at","rows","replaced","tables":[…]',
    )
  addDatabaseFlags(move)
    .addHelpText(
      'after',
      `
The password for --to: better in PGPASSWORD or ~/.pgpass. Everybody on the machine can read flags.
A server on PostgreSQL needs HOLDFAST_ADMIN_TOKEN. The one in use is in the file admin-token.

Examples:
  holdfast move --to postgres://me@db.example.com/holdfast
  holdfast move --to postgres://me@db.example.com/holdfast --data-dir /var/lib/holdfast
  holdfast move --to postgres://me@db.example.com/holdfast --undo`,
    )
    .action(async (parsed: Parsed) => {
      const url = targetOf(textOf(parsed, 'to') ?? '')
      const settings = await settingsOf(world, parsed)
      const path = sourceOf(settings)
      const { clock, random, scheduler } = world
      const to = withoutPassword(url)
      const request = { path, url, to, clock, random, scheduler }
      const from = describeDatabase(settings)
      const asJson = parsed['json'] === true
      if (parsed['undo'] === true) {
        const answer = await run(world, request, (given) => world.undoMove(given))
        return printUndone(world, answer, { from, to, asJson })
      }
      const answer = await run(world, request, (given) => world.moveStore(given))
      return printMoved(world, answer, { from, to, asJson, settings })
    })
}

function targetOf(text: string): string {
  const parsed = options.databaseUrl.kind.fromText.safeParse(text)
  if (parsed.success && parsed.data.kind === 'postgres') return parsed.data.url
  const given = parsed.success
    ? 'names a SQLite file'
    : 'is not the address of a PostgreSQL database'
  throw new UsageError(
    `--to ${given}. A store is moved to PostgreSQL only`,
    'Give the address of an empty database: --to postgres://USER@HOST/NAME',
  )
}

function sourceOf(settings: Settings): string {
  const { database } = settings
  refuseMemory(settings)
  if (database.kind === 'sqlite') {
    requireFile(database.path)
    return database.path
  }
  throw new UsageError(
    `The settings name ${describeDatabase(settings)}, but only a SQLite store can be moved`,
    'Say where the SQLite file is: --database-url sqlite:PATH',
  )
}

/** Shows progress meanwhile, and says in an error how to go on. */
async function run<T>(
  world: World,
  request: MoveOptions,
  work: (request: MoveOptions) => Promise<T>,
): Promise<T> {
  const progress = progressOn(world.terminal)
  const steps = { count: 0 }
  const onProgress = (step: MoveProgress): void => {
    steps.count++
    progress.show(progressText(step))
  }
  try {
    return await work({ ...request, onProgress })
  } catch (error) {
    const target = { database: { kind: 'postgres', url: request.url } } as const
    const failure = storeFailure(error, target, world.env, '--to')
    throw steps.count > 0 ? withContinuation(failure) : failure
  } finally {
    progress.end()
  }
}

function progressText(step: MoveProgress): string {
  switch (step.what) {
    case 'copying':
      return `Copying ${step.table} … ${step.rows} of ${step.of} rows`
    case 'verifying':
      return `Comparing ${step.table} … ${step.rows} of ${step.of} rows`
    default:
      return 'Moving …'
  }
}

/** The database went away in the middle. */
function withContinuation(error: unknown): unknown {
  const isAway = error instanceof StoreUnavailableError || error instanceof StoreContendedError
  if (!isAway) return error
  const next = 'Then run this command again: it continues where it stopped.'
  const hint = error.hint === undefined ? next : `${error.hint} ${next}`
  return new (error.constructor as typeof StoreUnavailableError)(error.code, error.message, {
    hint,
    cause: error.cause,
  })
}

interface Printed {
  readonly from: string
  readonly to: string
  readonly asJson: boolean
}

type Report = MoveAnswer['tables'][number]

const tableShape: TableShape<Report> = {
  screen: [
    { title: 'TABLE', of: ({ table }) => table },
    { title: 'ROWS', of: ({ rows }) => String(rows), side: 'right' },
    { title: 'SHA-256', of: ({ sha256 }) => sha256, cut: 'end', least: 12 },
  ],
  plain: [
    ['table', ({ table }) => table],
    ['rows', ({ rows }) => rows],
    ['sha256', ({ sha256 }) => sha256],
  ],
}

function printMoved(
  world: World,
  answer: MoveAnswer,
  { from, to, asJson, settings }: Printed & { readonly settings: Settings },
): void {
  const { outcome, storeId, movedAt, tables, replaced } = answer
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const at = new Date(movedAt).toISOString()
  if (asJson) {
    const facts = { moved_at: at, rows, replaced, tables }
    return printJson(world.terminal, { outcome, from, to, store_id: storeId, ...facts })
  }
  tablePrinter(world.terminal, tableShape, world.clock.wallMs()).print(tables)
  const what = `${rows} rows in ${tables.length} tables`
  const done = outcome === 'moved' ? `Moved ${what}` : `Moved ${what} already, at ${at},`
  printNote(
    world.terminal,
    `${done} from ${from} to ${to}. Every row was compared.\n` +
      replacedText(replaced) +
      'The file is kept, but no program can open it any more.\n' +
      nextText(to, settings),
  )
}

function replacedText(replaced: number): string {
  if (replaced === 0) return ''
  const [texts, its] = replaced === 1 ? ['text', 'its'] : ['texts', 'their']
  return (
    `PostgreSQL cannot store the character NUL. In ${replaced} ${texts} ${its} NULs are now ` +
    'U+FFFD.\n'
  )
}

/** With PostgreSQL every machine must be given the secrets that one machine had in its folder. */
function nextText(to: string, settings: Settings): string {
  const present = presentSecretFiles(settings)
  const given = [
    [secretFileNames.admin, options.adminToken.env],
    [secretFileNames.webhook, options.githubWebhookSecrets.env],
  ].flatMap(([name = '', env = '']) =>
    present.filter((path) => path.endsWith(name)).map((path) => `${env}_FILE=${shellWord(path)} `),
  )
  const database = `${options.databaseUrl.env}=${shellWord(to)} `
  const command = `${database}${given.join('')}holdfast serve`
  return `Next, start the server on the new database:\n  ${command}\n`
}

function printUndone(world: World, answer: UndoAnswer, { from, to, asJson }: Printed): void {
  const { outcome, storeId } = answer
  if (asJson) return printJson(world.terminal, { outcome, from, to, store_id: storeId })
  printNote(
    world.terminal,
    outcome === 'undone'
      ? `Undone: the copy in ${to} was removed, and ${from} can be used again.\n`
      : `Nothing to undo: ${from} was not moved, and ${to} is empty.\n`,
  )
}
