/**
 * Makes a folder with its parents, for its owner alone. One by one: Node's own recursive way never
 * ends where a parent is there but refuses children as if it were not, as /proc does.
 */
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Answers whether it was made; one that is already there keeps the mode its owner chose. */
export async function makeFolder(path: string): Promise<boolean> {
  if (await isFolder(path)) return false
  const parent = dirname(path)
  if (parent !== path) await makeFolder(parent)
  try {
    await mkdir(path, { mode: 0o700 })
    return true
  } catch (error) {
    // Another process that starts in the same moment may have made it.
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
