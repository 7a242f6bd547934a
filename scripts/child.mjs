/**
 * Runs a child process. Signals that would end this process go to the child, and this process ends
 * when the child has ended. Plain JavaScript for Node 20, because this runs before anything is
 * installed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

const forwarded = ['SIGTERM', 'SIGINT', 'SIGHUP']

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ quiet?: boolean, input?: 'inherit' | 'ignore', env?: NodeJS.ProcessEnv }} [options]
 *   quiet: the output is collected and not shown.
 * @returns {Promise<{ code: number, output: string, interrupted: boolean }>} `interrupted`: one of
 *   the signals came meanwhile, so the caller should not go on to something else.
 */
export async function runChild(command, args, options = {}) {
  const output = options.quiet ? 'pipe' : 'inherit'
  const child = spawn(command, args, {
    cwd: root,
    env: options.env ?? process.env,
    stdio: [options.input ?? 'ignore', output, output],
  })
  let collected = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk) => (collected += chunk))
  }
  let interrupted = false
  const forward = (signal) => {
    interrupted = true
    child.kill(signal)
  }
  for (const signal of forwarded) process.on(signal, forward)
  try {
    const [code, signal] = await once(child, 'close')
    return { code: code ?? 128 + constants.signals[signal], output: collected, interrupted }
  } finally {
    for (const signal of forwarded) process.off(signal, forward)
  }
}
