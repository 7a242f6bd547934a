/** `holdfast backup`: a checked copy of a SQLite database, while a server uses it. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { SetupError } from '../../errors.ts'
import { presentSecretFiles } from '../../settings/data-folder/server-secrets.ts'
import { withoutPassword } from '../../settings/describe-settings.ts'
import { addDatabaseFlags, settingsOf, type Parsed } from '../connection/connection.ts'
import { requireFile, refuseMemory } from '../operations/open-operations.ts'
import { printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { progressOn } from '../output/progress.ts'
import { shellWord } from '../output/shell-word.ts'
import type { World } from '../world.ts'

export function addBackupCommand(program: Command, world: World): void {
  const backup = program
    .command('backup <file>')
    .summary('copy a SQLite database while a server uses it')
    .description(
      'Copies a SQLite database to a file, also while a server uses it. The copy is checked for ' +
        'damage and has mode 0600. To restore it, stop the server, replace the database with the ' +
        'copy, and delete the -wal and -shm files beside it. The copy does not include the files ' +
        'admin-token and webhook-secret of the data folder: copy them too.',
    )
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print {"file","bytes"}')
  addDatabaseFlags(backup)
    .addHelpText(
      'after',
      `
For PostgreSQL use: pg_dump --schema=holdfast

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
      requireFile(database.path)
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
        printText(
          world.terminal,
          `Backup written and verified (${sizeText(bytes)}): ${target}\n` +
            notIncludedText(presentSecretFiles(settings)),
        )
      } finally {
        progress.end()
      }
    })
}

/** The files are named but not copied: they are secrets, and many people may read a backup. */
function notIncludedText(files: readonly string[]): string {
  if (files.length === 0) return ''
  return `Not included: ${files.join(', ')}. Copy ${files.length === 1 ? 'it' : 'them'} too.\n`
}

function progressText(share: number): string {
  return share < 1 ? `Copying … ${Math.floor(share * 100)} %` : 'Verifying the copy …'
}

export function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const rank = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  const size = bytes / 1000 ** rank
  return `${rank === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[rank] ?? ''}`
}

/** The command to run instead, without the password. */
function usePgDump(address: string, file: string): SetupError {
  const dump = 'pg_dump --format=custom --schema=holdfast'
  const command = `${dump} --file=${shellWord(file)} ${shellWord(withoutPassword(address))}`
  const password = 'It asks for the password, or reads it from PGPASSWORD or ~/.pgpass.'
  const message = 'This database is PostgreSQL, but holdfast backup copies SQLite only'
  return new SetupError('backup_postgres', message, {
    hint: `Run: umask 077; ${command}\n  ${password}`,
  })
}
