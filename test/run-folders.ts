/**
 * What every process of a test run shares: a folder for compiled code, which stays for the next
 * run, and one for everything that a run writes: in memory where there is room, because
 * databases then wait for no disk, and removed as a whole, because tests may leave things in it.
 *
 * What must hold: it does not outlive the run, however that ends. A shell holds the read end of a
 * pipe whose only writer is this process, and removes the folder when the pipe closes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chmodSync, constants, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
/** Several times what a run has been seen to use; a container has 64 MB unless told otherwise. */
const bytesMin = 4 * 1024 ** 3

const compiledCode = 'node_modules/.cache/holdfast-tests'

const remover = 'cat >/dev/null; rm -rf "$1"'

const prefix = 'holdfast-tests-'

/** For Vitest, before the workers start: they inherit the environment. */
export default function setup(): (() => Promise<void>) | undefined {
  const before = process.env['TMPDIR']
  // Another project of this run has made it.
  if (before?.includes(prefix) === true) return undefined
  const folder = mkdtempSync(join(hasRoom(memory) ? memory : tmpdir(), prefix))
  // PostgreSQL may run under another account, in a folder of its own below.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = folder
  process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '..', compiledCode)
  const child = spawn('sh', ['-c', remover, 'sh', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  return async () => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    const closed = once(child, 'close')
    child.stdin.end()
    await closed
  }
}

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= bytesMin
  } catch {
    return false
  }
}
