/** `holdfast backup`: a checked copy of a SQLite database, while a server uses it. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { SetupError } from '../../errors.ts'
import { presentSecretFiles } from '../../settings/secret-files.ts'
import { addDatabaseFlags, settingsOf, type Parsed } from '../connection/connection.ts'
import { noDatabase, refuseMemory } from '../operations/open-operations.ts'
import { printJson } from '../output/json.ts'
import { progressOn } from '../output/progress.ts'
import type { World } from '../world.ts'

export function addBackupCommand(program: Command, world: World): void {
  const backup = program
    .command('backup <file>')
    .summary('copy a SQLite database while a server uses it')
    .description(
      'Copies a SQLite database to a file: one moment of it, taken while a server goes on, read ' +
        'through for damage before it appears under its name, with mode 0600. To restore, stop ' +
        'the server and put the copy in the place of the database, without its -wal and -shm. ' +
        'The files admin-token and webhook-secret of the data folder are not in it: for a ' +
        'restore into another folder, copy them as well.',
    )
    .option('--force', 'replace the file when it is there')
    .option('--json', 'print {"file","bytes"}')
  addDatabaseFlags(backup)
    .addHelpText(
      'after',
      `
PostgreSQL has a tool of its own: pg_dump --schema=holdfast.

Examples:
  holdfast backup holdfast-$(date +%F).db
  holdfast backup --force /backups/holdfast.db --data-dir /var/lib/holdfast`,
    )
    .action(async (file: string, parsed: Parsed) => {
      const settings = await settingsOf(world, parsed)
      const { database } = settings
      const target = resolve(world.cwd, file)
      if (database.kind === 'postgres') throw usePgDump(database.url, file)
      refuseMemory(settings)
      if (!existsSync(database.path)) throw noDatabase(database.path)
      const progress = progressOn(world.terminal)
      try {
        const { bytes } = await world.backupDatabase(database.path, {
          target,
          replace: parsed['force'] === true,
          random: world.random,
          onProgress: (share) => progress.show(progressText(share)),
        })
        progress.end()
        if (parsed['json'] === true) return printJson(world.terminal, { file: target, bytes })
        world.terminal.out(
          `${target} is a whole copy (${sizeText(bytes)}), checked.\n` +
            notInItText(presentSecretFiles(settings)),
        )
      } finally {
        progress.end()
      }
    })
}

/** They hold secrets, and a copy is often kept where more people can read: they are only named. */
function notInItText(files: readonly string[]): string {
  if (files.length === 0) return ''
  return `Not in it: ${files.join(', ')}. Copy ${files.length === 1 ? 'it' : 'them'} as well.\n`
}

function progressText(share: number): string {
  return share < 1 ? `Copying … ${Math.floor(share * 100)} %` : 'Checking the copy …'
}

export function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const rank = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  const size = bytes / 1000 ** rank
  return `${rank === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[rank] ?? ''}`
}

/** The command to run instead, without the password. */
function usePgDump(address: string, file: string): SetupError {
  const url = new URL(address)
  url.password = ''
  for (const name of [...url.searchParams.keys()]) {
    if (/pass|secret|token|key/i.test(name)) url.searchParams.delete(name)
  }
  const dump = 'pg_dump --format=custom --schema=holdfast'
  const command = `${dump} --file=${quoted(file)} ${quoted(url.href)}`
  return new SetupError('backup_postgres', 'A PostgreSQL database is copied by its own tool', {
    hint: `Run: ${command}\n  It asks for the password, or takes it from PGPASSWORD or ~/.pgpass.`,
  })
}

function quoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
