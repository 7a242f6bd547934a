/** `holdfast migrate`: updates the database's schema, or prints what that would do. */
import type { Command } from 'commander'
import type { DatabaseInspection } from '../../domain/database-inspection.ts'
import { isActive } from '../../domain/served.ts'
import type { RestoreNote } from '../../store/outbox-store.ts'
import { describeDatabase } from '../../settings/describe-settings.ts'
import { makeDatabaseFolder } from '../../settings/data-folder/folders.ts'
import { missingSecretFiles } from '../../settings/data-folder/server-secrets.ts'
import type { Settings } from '../../settings/settings.ts'
import { addDatabaseFlags, settingsOf, type Parsed } from '../connection/connection.ts'
import { UnreachableError, UsageError } from '../failure.ts'
import { openExisting, refuseMemory } from '../operations/open-operations.ts'
import { printNote, printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { progressOn } from '../output/progress.ts'
import { missingFilesText, notedText } from './restore-words.ts'
import { storeFailure } from './store-failure.ts'
import type { World } from '../world.ts'

export function addMigrateCommand(program: Command, world: World): void {
  const migrate = program
    .command('migrate')
    .summary("update the database's schema")
    .description(
      'Updates the schema of the database in one transaction and prints the old and the new ' +
        'version. A server does the same when it starts. A database that does not exist is ' +
        'created. After pg_restore, run this with --restored before the first start. A copy made ' +
        'by holdfast backup needs no --restored.',
    )
    .option('--dry-run', 'only print what would be applied')
    .option(
      '--restored',
      'the database was restored from a copy: check GitHub before sending again',
    )
    .option(
      '--json',
      'print {"from","to","applied":[…],"dry_run","restored"}; restored: "open","shown"',
    )
  addDatabaseFlags(migrate)
    .addHelpText(
      'after',
      `
Examples:
  holdfast migrate --dry-run
  holdfast migrate --restored
  holdfast migrate --database-url postgres://me@db.example.com/holdfast`,
    )
    .action(async (parsed: Parsed) => {
      const settings = await settingsOf(world, parsed)
      refuseMemory(settings)
      const dryRun = parsed['dryRun'] === true
      const { schema } = await inspect(world, settings)
      const restored = parsed['restored'] === true
      if (restored && dryRun) {
        throw new UsageError('--dry-run and --restored cannot be used together')
      }
      if (restored && schema.version === 0) throw nothingRestored(settings)
      if (schema.missing.length > 0 && !dryRun) await apply(world, settings, schema.missing.length)
      const note = restored ? await noteRestore(world, settings) : null
      const applied = schema.missing.map(({ version, name }) => ({ version, name }))
      const to = applied.at(-1)?.version ?? schema.version
      const answer = { from: schema.version, to, applied, dry_run: dryRun, restored }
      const counts = note && { open: note.open, shown: note.shown }
      if (parsed['json'] === true) return printJson(world.terminal, { ...answer, ...counts })
      const restoreText =
        note === null
          ? ''
          : notedText(note) + missingFilesText(missingSecretFiles(settings), settings.dataDir)
      const text = schemaText(answer, describeDatabase(settings)) + restoreText
      printText(world.terminal, text)
    })
}

/** A new, empty database is not a restored one. */
function nothingRestored(settings: Settings): UnreachableError {
  const message = `There is no Holdfast database at ${describeDatabase(settings)}`
  return new UnreachableError('store_missing', message, {
    hint: 'Put the copy there first, or say where it is: --data-dir PATH or --database-url URL.',
  })
}

export async function inspect(world: World, settings: Settings): Promise<DatabaseInspection> {
  try {
    return await world.inspectDatabase(settings.database, { clock: world.clock, readThrough: true })
  } catch (error) {
    throw storeFailure(error, settings, world.env)
  }
}

/** Opening a store is what migrates it. */
async function apply(world: World, settings: Settings, count: number): Promise<void> {
  const progress = progressOn(world.terminal)
  progress.show(`Applying ${count === 1 ? '1 migration' : `${count} migrations`} …`)
  try {
    await makeDatabaseFolder(settings)
    const store = await openExisting(world, settings, { make: true, migrate: true })
    try {
      const { aliveAt } = await store.upkeep.vitals()
      if (isActive(aliveAt, store.now())) {
        printNote(world.terminal, outdatedText(store.now() - aliveAt))
      }
    } finally {
      await store.close()
    }
  } finally {
    progress.end()
  }
}

async function noteRestore(world: World, settings: Settings): Promise<RestoreNote> {
  const store = await openExisting(world, settings)
  try {
    const { aliveAt } = await store.upkeep.vitals()
    if (isActive(aliveAt, store.now())) {
      printNote(world.terminal, activeText(store.now() - aliveAt))
    }
    return await store.outbox.noteRestore()
  } finally {
    await store.close()
  }
}

const secondsOf = (ms: number): number => Math.max(0, Math.round(ms / 1000))

const outdatedText = (agoMs: number): string =>
  `WARNING: A server was active ${secondsOf(agoMs)} s ago. If it is still running, stop it and ` +
  'start the new version: it does not know the new schema.\n'

const activeText = (agoMs: number): string =>
  `WARNING: A server was active ${secondsOf(agoMs)} s ago, on this database ` +
  'or on the one it was copied from. If a server was running during the restore, it may have ' +
  'sent a comment or review twice. If one is running on this database now: stop it, run this ' +
  'command again, then start it.\n'

interface Migrated {
  readonly from: number
  readonly to: number
  readonly applied: readonly { readonly version: number; readonly name: string }[]
  readonly dry_run: boolean
  readonly restored: boolean
}

function schemaText({ from, to, applied, dry_run: dryRun }: Migrated, database: string): string {
  if (applied.length === 0) return `${database} is up to date: schema ${from}.\n`
  const list = applied.map(({ version, name }) => `  ${String(version).padStart(4, '0')} ${name}\n`)
  const done = dryRun ? 'would be updated' : 'was updated'
  return `${database} ${done} from schema ${from} to ${to}:\n${list.join('')}`
}
