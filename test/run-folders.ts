/**
 * The folders that every process of a test run shares: one for compiled code, which stays for the
 * next run, and one for everything that a run writes. The second is in memory if there is room,
 * because databases are faster there, and is removed as a whole, because tests may leave files in
 * it.
 *
 * What must hold: it does not outlive the run, however the run ends. A shell has the read end of a
 * pipe whose only writer is this process, and removes the folder when the pipe closes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chmodSync, constants, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
/** Several times what a run uses. A container has 64 MB by default. */
const bytesMin = 4 * 1024 ** 3

const compiledCode = 'node_modules/.cache/holdfast-tests'

const remover = 'cat >/dev/null; rm -rf "$1"'

const prefix = 'holdfast-tests-'

/** For Vitest, before the workers start: they inherit the environment. */
export default function setup(): (() => Promise<void>) | undefined {
  const before = process.env['TMPDIR']
  // Another project of this run has already created it.
  if (before?.includes(prefix) === true) return undefined
  const folder = mkdtempSync(join(hasRoom(memory) ? memory : tmpdir(), prefix))
  // PostgreSQL may run under another account, in its own folder below.
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
