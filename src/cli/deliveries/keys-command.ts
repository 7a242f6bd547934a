/**
 * `holdfast keys`: the keys that markers are signed with. It works only directly on the database.
 * With such a key, anybody could write comments that count as ours, so it is not sent over HTTP.
 */
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { z } from 'zod'
import type { MarkerKey } from '../../store/outbox-store.ts'
import { makeDatabaseFolder } from '../../settings/data-folder/folders.ts'
import type { Store } from '../../store.ts'
import { addDatabaseFlags, settingsOf, type Parsed } from '../connection/connection.ts'
import { UsageError } from '../failure.ts'
import { openExisting } from '../operations/open-operations.ts'
import { printText } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import { tablePrinter, type TableShape } from '../output/table.ts'
import { relativeTime } from '../output/time-text.ts'
import { showFlagsOfList } from '../connection/query-flags.ts'
import type { World } from '../world.ts'

const actor = 'cli'
/** Enough for a new key every day for many years. Holdfast did not write a file with more. */
const keysMax = 10_000

const keysFile = z.object({
  keys: z
    .array(
      z.object({
        id: z.string().regex(/^[\w-]{1,100}$/),
        secret: z.string().min(32).max(200),
        created_at: z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
      }),
    )
    .min(1)
    .max(keysMax),
})

export function addKeysCommand(program: Command, world: World): void {
  const keys = program
    .command('keys')
    .summary('list, rotate, export and import marker keys')
    .description(
      'Marker keys: Holdfast signs its comments with them, to recognise its own. The newest key ' +
        'signs; all keys verify. They are in the database, one set for all servers. Without a ' +
        'command it lists them; the options are those of "list".',
    )
  addList(keys, world)
  addRotate(keys, world)
  addExport(keys, world)
  addImport(keys, world)
  showFlagsOfList(keys)
}

function addList(keys: Command, world: World): void {
  const list = keys
    .command('list', { isDefault: true })
    .summary('list marker keys, never their secrets (also without "list")')
    .description('Lists marker keys, newest first; never their secrets.')
    .option('--json', 'print {"items":[…]}')
  addDatabaseFlags(list).action(async (parsed: Parsed) => {
    const found = await onStore(world, parsed, (store) => store.outbox.markerKeys())
    const items = found.map(viewOf)
    if (parsed['json'] === true) return printJson(world.terminal, { items })
    tablePrinter(world.terminal, keysTable, world.clock.wallMs()).print(items)
  })
}

function addRotate(keys: Command, world: World): void {
  const rotate = keys
    .command('rotate')
    .summary('add a key that signs from now on')
    .description(
      'Adds a key. New comments are signed with it at once, by every server of this database; ' +
        'older keys still verify what they signed. Make a backup or an export afterwards: a ' +
        'database restored from an older copy does not have the new key.',
    )
    .option('--json', 'print {"items":[…]}')
  addDatabaseFlags(rotate).action(async (parsed: Parsed) => {
    const all = await onStore(world, parsed, (store) => store.outbox.rotateMarkerKey(actor))
    if (parsed['json'] === true) return printJson(world.terminal, { items: all.map(viewOf) })
    const others = all.length - 1
    printText(
      world.terminal,
      `Key ${all[0]?.id ?? ''} signs from now on. ` +
        `${others} older ${others === 1 ? 'key still verifies' : 'keys still verify'}.\n`,
    )
  })
}

function addExport(keys: Command, world: World): void {
  const command = keys
    .command('export <file>')
    .summary('write all keys, with their secrets, to a file')
    .description(
      'Writes all keys with their secrets to a new file with mode 0600; "-" prints them on ' +
        'standard output. Keep them as safe as the database. The audit records the export.',
    )
  addDatabaseFlags(command)
    .addHelpText(
      'after',
      `
Examples:
  holdfast keys export marker-keys.json
  holdfast keys export - | age -r RECIPIENT > marker-keys.age`,
    )
    .action(async (file: string, parsed: Parsed) => {
      await onStore(world, parsed, async ({ outbox }) => {
        const path = file === '-' ? null : reserve(resolve(world.cwd, file))
        const all = await outbox.exportMarkerKeys(actor).catch((error: unknown) => {
          // An empty file would be in the way of the next export.
          if (path !== null) unlinkSync(path)
          throw error
        })
        const text = `${JSON.stringify({ keys: all.map(fileForm) }, null, 2)}\n`
        if (path === null) {
          world.terminal.out(text)
          return
        }
        writeFileSync(path, text)
        world.terminal.out(`Wrote ${countText(all.length)} to ${path}.\n`)
      })
    })
}

function addImport(keys: Command, world: World): void {
  const command = keys
    .command('import <file>')
    .summary('add the missing keys from a file')
    .description(
      'Adds the keys of an exported file that are missing here. With the keys of a lost ' +
        'database, a new one recognises the comments that the lost one wrote and continues them: ' +
        'import before the first start. Deliveries that are held because no key verified a ' +
        'comment are checked again. A missing database is created.',
    )
    .option('--json', 'print {"added":[…],"known":[…]}, by id')
  addDatabaseFlags(command)
    .addHelpText(
      'after',
      `
Example:
  holdfast keys import marker-keys.json`,
    )
    .action(async (file: string, parsed: Parsed) => {
      const given = readKeys(resolve(world.cwd, file))
      const work = (store: Store) => store.outbox.importMarkerKeys(given, actor)
      const { added, known } = await onStore(world, parsed, work, true)
      if (parsed['json'] === true) return printJson(world.terminal, { added, known })
      world.terminal.out(`Added ${countText(added.length)}; ${known.length} already known.\n`)
    })
}

async function onStore<T>(
  world: World,
  parsed: Parsed,
  work: (store: Store) => Promise<T>,
  make = false,
): Promise<T> {
  const settings = await settingsOf(world, parsed)
  if (make) await makeDatabaseFolder(settings)
  const store = await openExisting(world, settings, { make })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Created before the keys are read: an existing file is never overwritten. */
function reserve(path: string): string {
  try {
    writeFileSync(path, '', { mode: 0o600, flag: 'wx' })
    return path
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' ? 'the file exists' : (code ?? 'unknown')
    throw new UsageError(`Could not create ${path}: ${why}`, 'Name a file that does not exist.')
  }
}

function readKeys(path: string): MarkerKey[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(
      `Could not read ${path}: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`,
      'Name a file that "holdfast keys export FILE" wrote and that this user may read.',
    )
  }
  const read = keysFile.safeParse(jsonOf(text))
  if (!read.success) {
    throw new UsageError(
      `${path} is not a file of marker keys`,
      'Make one with: holdfast keys export FILE',
    )
  }
  return read.data.keys.map(({ created_at: createdAt, ...key }) => ({ ...key, createdAt }))
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const isoOf = (ms: number): string => new Date(ms).toISOString()
const countText = (count: number): string =>
  count === 1 ? '1 key' : `${count === 0 ? 'no' : count} keys`

function fileForm({ id, secret, createdAt }: MarkerKey) {
  return { id, secret, created_at: isoOf(createdAt) }
}

function viewOf({ id, createdAt }: MarkerKey, index: number): KeyView {
  return { id, created_at: isoOf(createdAt), signs: index === 0 }
}

interface KeyView {
  readonly id: string
  readonly created_at: string
  readonly signs: boolean
}

const keysTable: TableShape<KeyView> = {
  screen: [
    { title: 'ID', of: ({ id }) => id },
    { title: 'USE', of: ({ signs }) => (signs ? 'signs and verifies' : 'verifies') },
    {
      title: 'CREATED',
      of: ({ created_at: at }, now) => relativeTime(at, now),
      style: () => 'dim',
    },
  ],
  plain: [
    ['id', ({ id }) => id],
    ['signs', ({ signs }) => String(signs)],
    ['created_at', ({ created_at: at }) => at],
  ],
}
