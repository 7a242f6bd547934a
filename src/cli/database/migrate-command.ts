/** `holdfast migrate`: brings the database's schema up to date, or tells what that would do. */
import type { Command } from 'commander'
import type { DatabaseInspection } from '../../domain/database-inspection.ts'
import { isActive } from '../../domain/served.ts'
import type { RestoreNote } from '../../store/outbox-store.ts'
import { describeDatabase } from '../../settings/describe-settings.ts'
import { makeDatabaseFolder } from '../../settings/first-start.ts'
import { missingSecretFiles } from '../../settings/secret-files.ts'
import type { Settings } from '../../settings/settings.ts'
import { addDatabaseFlags, settingsOf, type Parsed } from '../connection/connection.ts'
import { UnreachableError, UsageError } from '../failure.ts'
import { openExisting, refuseMemory } from '../operations/open-operations.ts'
import { printJson } from '../output/json.ts'
import { progressOn } from '../output/progress.ts'
import { missingFilesText, notedText } from './restore-words.ts'
import { storeFailure } from './store-failure.ts'
import type { World } from '../world.ts'

export function addMigrateCommand(program: Command, world: World): void {
  const migrate = program
    .command('migrate')
    .summary("bring the database's schema up to date")
    .description(
      'Brings the schema of the database up to date, in one transaction, and says from which ' +
        'version to which. A server does the same when it starts; this does it beforehand. A ' +
        'database that is not there is made. After pg_restore, give --restored before the first ' +
        'start; a copy made by holdfast backup says so itself.',
    )
    .option('--dry-run', 'only tell what would be applied')
    .option('--restored', 'say that the database was restored: what is open is looked for first')
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
        throw new UsageError('--dry-run changes nothing, so --restored does not go with it')
      }
      if (restored && schema.version === 0) throw nothingRestored(settings)
      if (schema.missing.length > 0 && !dryRun) await apply(world, settings, schema.missing.length)
      const note = restored ? await noteRestore(world, settings) : null
      const applied = schema.missing.map(({ version, name }) => ({ version, name }))
      const to = applied.at(-1)?.version ?? schema.version
      const answer = { from: schema.version, to, applied, dry_run: dryRun, restored }
      const counts = note && { open: note.open, shown: note.shown }
      if (parsed['json'] === true) return printJson(world.terminal, { ...answer, ...counts })
      const told =
        note === null
          ? ''
          : notedText(note) + missingFilesText(missingSecretFiles(settings), settings.dataDir)
      world.terminal.out(schemaText(answer, describeDatabase(settings)) + told)
    })
}

/** The empty one that would be made here is no copy of anything. */
function nothingRestored(settings: Settings): UnreachableError {
  const message = `There is no database of Holdfast's in ${describeDatabase(settings)}`
  return new UnreachableError('store_missing', message, {
    hint:
      'Put the copy there first, under that name, or say where it is: --data-dir, ' +
      '--database-url.',
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
    const store = await openExisting(world, settings, true)
    await store.close()
  } finally {
    progress.end()
  }
}

async function noteRestore(world: World, settings: Settings): Promise<RestoreNote> {
  const store = await openExisting(world, settings)
  try {
    const { aliveAt } = await store.upkeep.vitals()
    if (isActive(aliveAt, store.now())) world.terminal.err(activeText(store.now() - aliveAt))
    return await store.outbox.noteRestore()
  } finally {
    await store.close()
  }
}

const activeText = (agoMs: number): string =>
  'Warning: If it was restored while a server was running, a comment or a review may now be ' +
  'there twice: what that server sent since the restore was not looked for first. A server was ' +
  `active on it, or on what it was copied from, ${Math.max(0, Math.round(agoMs / 1000))} s ago. ` +
  'If one runs on this database, stop it, give this command again, then start it.\n'

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
  const would = dryRun ? 'would go' : 'went'
  return `${database} ${would} from schema ${from} to ${to}:\n${list.join('')}`
}
