/**
 * A secret that is made once and kept in a file.
 *
 * What must hold:
 * - Two processes that start together end up with the same secret.
 * - A crash at any moment leaves either no file or a complete one.
 * - Only the owner can read the file.
 * So the secret is written to a draft file, flushed, and then linked to its name. Only the first
 * process can make that link.
 *
 * A person gets to see every secret that is made: a mark file beside it, made before the secret,
 * says that it was not shown yet. The mark is removed after the secret was shown. If the process
 * crashes in between, the secret is shown twice, which is harmless.
 */
import { constants } from 'node:fs'
import { link, lstat, open, readdir, unlink, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { SetupError } from '../../errors.ts'
import type { Random } from '../../random.ts'

export interface KeptSecret {
  readonly path: string
  readonly value: string
  /** True until `markShown`. */
  readonly unshown: boolean
  /** Set if other users could read the file until now. */
  readonly warning: string | null
}

export interface KeepSecretOptions {
  readonly folder: string
  readonly name: string
  readonly make: () => string
  readonly random: Random
  /** The setting that makes the file unnecessary. */
  readonly setting: string
}

export async function keepSecret(options: KeepSecretOptions): Promise<KeptSecret> {
  const path = join(options.folder, options.name)
  try {
    const existing = await readKept(path, options)
    if (existing !== null) {
      await removeLeftovers(options)
      return { path, unshown: await isThere(markOf(path)), ...existing }
    }
    await (await open(markOf(path), markFlags, 0o600)).close()
    await publishNew(path, options)
    const kept = await readKept(path, options)
    if (kept === null) throw new Error('the file vanished while it was made')
    return { path, unshown: true, ...kept }
  } catch (error) {
    if (error instanceof SetupError) throw error
    throw new SetupError('secret_file', `Could not use ${path}: ${(error as Error).message}`, {
      hint: `Give the user of Holdfast access to ${options.folder}, or set ${options.setting}.`,
      cause: error,
    })
  }
}

/** Call this after a person has seen the secret. */
export async function markShown({ path }: Pick<KeptSecret, 'path'>): Promise<void> {
  await unlinkIfThere(markOf(path))
}

/** A symbolic link is not followed, because its target would be created or opened for writing. */
const markFlags = constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW

const markOf = (path: string): string => join(dirname(path), `.${basename(path)}.not-shown`)

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false
    throw error
  }
}

async function readKept(
  path: string,
  options: KeepSecretOptions,
): Promise<Pick<KeptSecret, 'value' | 'warning'> | null> {
  const file = await openKept(path)
  if (file === null) return null
  try {
    return await readSecret(file, path, options)
  } finally {
    await file.close()
  }
}

/** Returns null if the file is missing. A symbolic link is refused: it leads out of the folder. */
async function openKept(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null
    if (!isCode(error, 'ELOOP')) throw error
    throw new SetupError(
      'secret_file',
      `${path} is a symbolic link. For safety it is not followed`,
      {
        hint: 'Put the file itself there, or remove the link: then a new secret is made.',
      },
    )
  }
}

async function readSecret(
  file: FileHandle,
  path: string,
  options: KeepSecretOptions,
): Promise<Pick<KeptSecret, 'value' | 'warning'>> {
  const value = (await file.readFile('utf8')).trim()
  if (value === '') {
    throw new SetupError('secret_file', `${path} is empty, but must contain a secret`, {
      hint: `Delete it: then a new secret is made. Or set ${options.setting}.`,
    })
  }
  return { value, warning: await closeToOthers(file, path) }
}

async function closeToOthers(file: FileHandle, path: string): Promise<string | null> {
  // Windows has no such modes and reports all files as open to everybody.
  if (process.platform === 'win32') return null
  const mode = (await file.stat()).mode & 0o777
  if ((mode & 0o077) === 0) return null
  await file.chmod(0o600)
  return (
    `${path} had mode 0${mode.toString(8)}, so other users could read the secret in it. ` +
    'It has mode 0600 now. Replace the secret if others use this machine.'
  )
}

/** Makes a new secret. If another process was first, its secret stays. */
async function publishNew(path: string, options: KeepSecretOptions): Promise<void> {
  const unique = options.random.bytes(9).toString('base64url')
  const draft = join(options.folder, `${draftPrefix(options)}${unique}`)
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(`${options.make()}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  try {
    await link(draft, path)
    await syncFolder(options.folder)
  } catch (error) {
    // Another process was first. It may have removed our draft too.
    if (!isCode(error, 'EEXIST') && !isCode(error, 'ENOENT')) throw error
  } finally {
    await unlinkIfThere(draft)
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Removes the drafts of processes that crashed. Once the secret exists, nobody needs a draft. */
async function removeLeftovers(options: KeepSecretOptions): Promise<void> {
  const prefix = draftPrefix(options)
  const names = (await readdir(options.folder)).filter((name) => name.startsWith(prefix))
  for (const name of names) await unlinkIfThere(join(options.folder, name))
}

function draftPrefix(options: KeepSecretOptions): string {
  return `.${options.name}.draft-`
}

async function unlinkIfThere(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
  }
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === code
}
