/**
 * Makes the data folder and the folder of the database, and checks that other users of the machine
 * cannot reach the SQLite file.
 *
 * Only the owner can open the data folder, so there only a symbolic link is dangerous. Elsewhere
 * other users must not be able to open the file or to put files into its folder: SQLite finds the
 * files beside the database by their names.
 */
import { lstat, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SetupError } from '../../errors.ts'
import { deniedWords, isDenied } from './denied.ts'
import { options } from '../options/options.ts'
import type { Settings } from '../settings.ts'

export interface UnsafeFile {
  readonly problem: string
  readonly remedy: string
}

/** The database itself, and the files that SQLite and Holdfast keep beside it. */
const databaseFileSuffixes = ['', '-wal', '-shm', '-journal', '.lock'] as const

/** Returns null if the file is safe. A missing file is safe: it is made with the right mode. */
export async function unsafeDatabaseFile(settings: Settings): Promise<UnsafeFile | null> {
  const { database, dataDir } = settings
  if (database.kind !== 'sqlite' || database.path === ':memory:') return null
  const folder = dirname(database.path)
  // Windows has no such modes and reports everything as open to everybody.
  const checksModes = folder !== dataDir && process.platform !== 'win32'
  for (const suffix of databaseFileSuffixes) {
    const unsafe = await unsafeFile(database.path + suffix, checksModes)
    if (unsafe !== null) return unsafe
  }
  return checksModes ? await unsafeFolder(folder) : null
}

async function unsafeFile(path: string, checksModes: boolean): Promise<UnsafeFile | null> {
  const found = await orNull(lstat(path))
  if (found?.isSymbolicLink() === true) {
    return {
      problem: `${path} is a symbolic link. For safety it is not followed`,
      remedy: 'Put the file itself there, or set the path that the link leads to.',
    }
  }
  if (found?.isDirectory() === true) {
    return {
      problem: `${path} is a folder, not the file of a database`,
      remedy: `Name a file: ${options.databaseUrl.env}=sqlite:${join(path, 'holdfast.db')}`,
    }
  }
  if (found === null || !checksModes || (found.mode & 0o077) === 0) return null
  return {
    problem: `${path} has mode ${modeText(found.mode)}, so other users of this machine can open it`,
    remedy: `Run: chmod 600 ${path}`,
  }
}

/** Others may list the folder, because they see only names there. They may not write to it. */
async function unsafeFolder(folder: string): Promise<UnsafeFile | null> {
  const found = await orNull(stat(folder))
  if (found === null || (found.mode & 0o022) === 0) return null
  return {
    problem:
      `The folder of the database, ${folder}, has mode ${modeText(found.mode)}, so other users ` +
      'of this machine can put files there that the database would use',
    remedy: isSharedByDesign(found.mode)
      ? sharedFolderRemedy(folder, 'the database', `${options.databaseUrl.env}=sqlite:PATH`)
      : `Run: chmod go-w ${folder}. Or put the database in a folder of its own.`,
  }
}

/** With the sticky bit: `0750`, `1777`. */
export const modeText = (mode: number): string => (mode & 0o1777).toString(8).padStart(4, '0')

/** The sticky bit marks a folder that users share, such as /tmp. Its mode must stay. */
export const isSharedByDesign = (mode: number): boolean => (mode & 0o1000) !== 0

/** `setting`: what chooses the folder. */
export const sharedFolderRemedy = (folder: string, what: string, setting: string): string =>
  `Other users share ${folder}. Put ${what} in a folder of its own: ${setting}`

async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Makes a folder and its parents, which only the owner can open. Returns false if the folder exists
 * already; it then keeps the mode that its owner chose.
 *
 * The parents are made one by one, because Node's recursive `mkdir` never ends under /proc: that
 * folder exists but answers as if it did not.
 */
export async function makeFolder(path: string): Promise<boolean> {
  if (await isFolder(path)) return false
  const parent = dirname(path)
  if (parent !== path) await makeFolder(parent)
  try {
    await mkdir(path, { mode: 0o700 })
    return true
  } catch (error) {
    // Another process that starts at the same time may have made it.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && (await isFolder(path))) return false
    throw error
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Makes the data folder, and the folder of a database file that is somewhere else. */
export async function makeDatabaseFolder(settings: Settings): Promise<void> {
  const { database, dataDir } = settings
  if (database.kind !== 'sqlite') return
  await makeDataFolder(dataDir)
  if (database.path === ':memory:') return
  const folder = dirname(database.path)
  if (folder !== dataDir) {
    await makeFolderOrThrow(
      folder,
      `the folder of the database, ${folder}`,
      options.databaseUrl.env,
    )
  }
  const unsafe = await unsafeDatabaseFile(settings).catch((error: unknown) => {
    if (!isDenied(error)) throw error
    const { message, hint } = deniedWords(database.path)
    throw new SetupError('store_unusable', message, { hint, cause: error })
  })
  if (unsafe !== null)
    throw new SetupError('database_file', unsafe.problem, { hint: unsafe.remedy })
}

/** The folder contains the database and secrets, so an existing one is checked too. */
export async function makeDataFolder(path: string): Promise<void> {
  await makeFolderOrThrow(path, `the data folder ${path}`, options.dataDir.env)
  await refuseOpenFolder(path)
}

async function makeFolderOrThrow(path: string, folder: string, setting: string): Promise<void> {
  try {
    await makeFolder(path)
  } catch (error) {
    throw new SetupError('data_folder', `Could not make ${folder}: ${(error as Error).message}`, {
      hint: `Give the user of Holdfast access there, or choose another place with ${setting}.`,
      cause: error,
    })
  }
}

async function refuseOpenFolder(path: string): Promise<void> {
  // Windows has no such modes and reports all folders as open to everybody.
  if (process.platform === 'win32') return
  const { mode } = await stat(path)
  if ((mode & 0o077) === 0) return
  throw new SetupError(
    'data_folder_open',
    `The data folder ${path} has mode ${modeText(mode)}, so other users of this machine can ` +
      'read it',
    {
      hint: isSharedByDesign(mode)
        ? sharedFolderRemedy(path, 'the data', `${options.dataDir.env}=PATH`)
        : `Run: chmod 700 ${path}. Replace its secrets if somebody may have read them.`,
    },
  )
}
