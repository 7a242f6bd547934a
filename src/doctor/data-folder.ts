/** Checks of the data folder: it exists, only its owner can read it, and its disk has room. */
import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import { isDenied } from '../settings/data-folder/denied.ts'
import {
  isSharedByDesign,
  modeText,
  sharedFolderRemedy,
  unsafeDatabaseFile,
} from '../settings/data-folder/folders.ts'
import { options } from '../settings/options/options.ts'
import { secretFileNames } from '../settings/data-folder/server-secrets.ts'
import type { Settings } from '../settings/settings.ts'

const megabyte = 1_000_000
const freeBytesTight = 1000 * megabyte
/** SQLite's log alone may grow to 128 MB before it is written back. */
const freeBytesMin = 200 * megabyte

export async function checkDataFolder({ dataDir }: Settings): Promise<readonly Finding[]> {
  const mode = await modeOf(dataDir)
  if (mode === null) {
    return [
      warning(
        'data_folder',
        `${dataDir} does not exist yet.`,
        `The first start creates it. If it is the wrong place, set ${options.dataDir.env}.`,
      ),
    ]
  }
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return [
      problem(
        'data_folder',
        `This user may not read and write in ${dataDir}`,
        'Run doctor as the user that runs Holdfast. If this is that user, make it the owner of ' +
          'the folder (chown).',
      ),
    ]
  }
  if (isClosed(mode)) return [fine('data_folder', `Only this user can read ${dataDir}`)]
  return [
    problem(
      'data_folder',
      `${dataDir} has mode ${modeText(mode)}, so others can read it. No server starts with it.`,
      isSharedByDesign(mode)
        ? sharedFolderRemedy(dataDir, 'the data', `${options.dataDir.env}=PATH`)
        : `Fix it: chmod 700 ${dataDir}`,
    ),
  ]
}

/** The secrets that a first start made. */
export async function checkSecretFiles({ dataDir }: Settings): Promise<readonly Finding[]> {
  const names = Object.values(secretFileNames)
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(dataDir, name)
      const mode = await unlessDenied(modeOf(path))
      if (mode === null) return []
      const check = `${name.replace('-', '_')}_file`
      if (isClosed(mode)) return [fine(check, `Only this user can read ${path}`)]
      const open = `${path} has mode ${modeText(mode)}, so others can read the secret in it.`
      return [problem(check, open, `chmod 600 ${path}; replace it if others use this machine.`)]
    }),
  )
  return found.flat()
}

/** A server refuses to open an unsafe file. */
export async function checkDatabaseFile(settings: Settings): Promise<readonly Finding[]> {
  const unsafe = await unlessDenied(unsafeDatabaseFile(settings))
  if (unsafe === null) return []
  return [problem('store.file', `${unsafe.problem}. No server starts with it.`, unsafe.remedy)]
}

/** The disk of a SQLite file. The disk of PostgreSQL is not checked. */
export async function checkDisk({ database, dataDir }: Settings): Promise<readonly Finding[]> {
  if (database.kind !== 'sqlite' || database.path === ':memory:') return []
  const folder = (await modeOf(dirname(database.path))) === null ? dataDir : dirname(database.path)
  if ((await modeOf(folder)) === null) return []
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const left = `${freeText(free)} free for ${database.path}`
  const remedy = 'Make room on that disk, or move the database to another.'
  if (free < freeBytesMin) return [problem('store.disk', `Only ${left}`, remedy)]
  if (free < freeBytesTight) return [warning('store.disk', `Only ${left}`, remedy)]
  return [fine('store.disk', left)]
}

function freeText(bytes: number): string {
  const megabytes = Math.floor(bytes / megabyte)
  return megabytes < 10_000 ? `${megabytes} MB` : `${Math.floor(megabytes / 1000)} GB`
}

/** Returns null if the file is missing. */
async function modeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).mode
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Returns null if this user may not open the folder. Other checks report that. */
async function unlessDenied<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found
  } catch (error) {
    if (isDenied(error)) return null
    throw error
  }
}

/** Windows has no such modes and reports everything as open to everybody. */
function isClosed(mode: number): boolean {
  return process.platform === 'win32' || (mode & 0o077) === 0
}
