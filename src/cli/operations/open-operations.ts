/**
 * Opens the operations on a server or on a database. A database is opened even while a server uses
 * it. A missing one is not created, because an empty list from a new file would mislead.
 */
import { existsSync, statSync } from 'node:fs'
import { deniedWords, isDenied } from '../../settings/data-folder/denied.ts'
import { makeDatabaseFolder } from '../../settings/data-folder/folders.ts'
import { options } from '../../settings/options/options.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Store } from '../../store.ts'
import { connectionOf, type Parsed } from '../connection/connection.ts'
import { UnreachableError, UsageError } from '../failure.ts'
import { serverClient } from '../connection/server-client.ts'
import { storeFailure } from '../database/store-failure.ts'
import { printNote } from '../output/fit-text.ts'
import type { World } from '../world.ts'
import { httpOperations } from './http-operations.ts'
import type { Operations } from './operations.ts'

interface OpenOptions {
  /** Creates a missing database, because a token may be made before the first start. */
  readonly makeDatabase?: boolean
}

/** Opens the operations, does the work and closes them. */
export async function withOperations<T>(
  world: World,
  parsed: Parsed,
  work: (operations: Operations) => Promise<T>,
  open: OpenOptions = {},
): Promise<T> {
  const operations = await openOperations(world, parsed, open)
  try {
    return await work(operations)
  } finally {
    await operations.close()
  }
}

async function openOperations(
  world: World,
  parsed: Parsed,
  { makeDatabase = false }: OpenOptions,
): Promise<Operations> {
  const connection = await connectionOf(world, parsed)
  if (connection.kind === 'server') {
    const client = serverClient(world, connection.url, connection.bearer)
    const onAway = awayNotice(world, connection.url)
    return httpOperations(client, { scheduler: world.scheduler, onAway })
  }
  const { settings } = connection
  refuseMemory(settings)
  if (makeDatabase) await makeDatabaseFolder(settings)
  const store = await openExisting(world, settings, { make: makeDatabase })
  const [{ storeOperations }, { makeLog }] = await Promise.all([
    import('./store-operations.ts'),
    import('../serve/log.ts'),
  ])
  const { clock, random, scheduler, terminal } = world
  // Every failure rejects, so there is nothing to log.
  const log = makeLog('silent', terminal)
  const machine = { clock, random, scheduler, log }
  const asking = { ...machine, fetch: world.fetch, version: world.version }
  return storeOperations(store, settings, {
    ...machine,
    checkIsOurs: (...args) => world.checkIsOursBeside(store, settings, asking, ...args),
  })
}

/**
 * Opens the store, even while a server uses it. `make`: a missing SQLite file is created, and the
 * user is told so: it may be the wrong folder. `migrate`: an older schema is updated even while a
 * server is active on it.
 */
export async function openExisting(
  world: World,
  settings: Settings,
  { make = false, migrate = false }: { readonly make?: boolean; readonly migrate?: boolean } = {},
): Promise<Store> {
  const { database } = settings
  refuseMemory(settings)
  if (database.kind === 'sqlite' && !make) requireFile(database.path)
  const isNew = database.kind === 'sqlite' && !existsSync(database.path)
  const { clock, random, scheduler } = world
  const options = { clock, random, scheduler, ...(migrate && { migrate: 'always' as const }) }
  const store = await world.openStore(settings, options).catch((error: unknown) => {
    throw storeFailure(error, settings, world.env)
  })
  // `migrate` itself says that it creates one.
  if (isNew && !migrate) printNote(world.terminal, newDatabaseText(database.path))
  return store
}

const newDatabaseText = (path: string): string =>
  `holdfast: This is the new database ${path}; no server has used it. If you want another one, ` +
  'give --data-dir, --database-url or --url.\n'

export function refuseMemory({ database }: Pick<Settings, 'database'>): void {
  if (database.kind !== 'sqlite' || database.path !== ':memory:') return
  throw new UsageError(
    'A database in memory belongs to the process that serves it',
    'Ask that server: --url http://HOST:PORT',
  )
}

/** Throws if there is no file, or if this user may not open its folder. */
export function requireFile(path: string): void {
  try {
    if (statSync(path, { throwIfNoEntry: false }) !== undefined) return
  } catch (error) {
    if (!isDenied(error)) throw error
    const { message, hint } = deniedWords(path)
    throw new UnreachableError('store_unusable', message, { hint, cause: error })
  }
  throw noDatabase(path)
}

function noDatabase(path: string): UnreachableError {
  return new UnreachableError('store_missing', `There is no database at ${path}`, {
    hint:
      `Start a server here first, or say where it is: --data-dir, --database-url ` +
      `(${options.databaseUrl.env}), or --url for a server.`,
  })
}

function awayNotice(world: World, server: string): (away: boolean) => void {
  let wasAway = false
  return (away) => {
    if (away === wasAway) return
    wasAway = away
    printNote(
      world.terminal,
      away ? `${server} does not answer; trying again …\n` : `${server} is back.\n`,
    )
  }
}
