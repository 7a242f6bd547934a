/** The command line on the real machine: real streams, real signals, real exit. */
import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import { systemClock } from '../clock.ts'
import { systemRandom } from '../random.ts'
import { systemScheduler } from '../scheduler.ts'
import { exitCodes } from './failure.ts'
import { finishOutput } from './finish-output.ts'
import { runCommandLine } from './run-command-line.ts'
import { streamTerminal } from './terminal.ts'
import type { World } from './world.ts'

const stopSignals = ['SIGTERM', 'SIGINT'] as const

function realWorld(umask: number): World {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return {
    terminal: streamTerminal(process.stdout, process.stderr, process.env),
    inherited: {
      // Not `process.stdin.isTTY`: that would make the input non-blocking for a child, too.
      isTerminal: [0, 1, 2].some((descriptor) => isatty(descriptor)),
      stdout: process.stdout,
      stderr: process.stderr,
      umask,
    },
    env: process.env,
    cwd: process.cwd(),
    version: (JSON.parse(manifest) as { readonly version: string }).version,
    clock: systemClock,
    random: systemRandom,
    scheduler: systemScheduler,
    fetch: globalThis.fetch,
    onStopSignal(handler, alsoHangUp = false) {
      const signals = alsoHangUp ? ([...stopSignals, 'SIGHUP'] as const) : stopSignals
      for (const signal of signals) process.on(signal, handler)
      return () => {
        for (const signal of signals) process.off(signal, handler)
      }
    },
    onUnhandledRejection(handler) {
      process.on('unhandledRejection', handler)
      return () => process.off('unhandledRejection', handler)
    },
    onUncaughtException(handler) {
      const decide = (thrown: unknown): void => {
        if (handler(thrown) === 'end') process.exit(exitCodes.failed)
      }
      process.on('uncaughtException', decide)
      return () => process.off('uncaughtException', decide)
    },
    compose: async (...args) => (await import('../compose.ts')).compose(...args),
    composeWorker: async (...args) => (await import('../compose-worker.ts')).composeWorker(...args),
    openStore: async (...args) => (await import('../open-store.ts')).openStore(...args),
    openEngine: async (...args) => (await import('../open-engine.ts')).openEngine(...args),
    openStandalone: async (...args) => (await import('../standalone.ts')).openStandalone(...args),
    inspectDatabase: async (...args) => (await import('../open-store.ts')).inspectDatabase(...args),
    openGitHub: async (...args) => (await import('../connect.ts')).openGitHub(...args),
    checkIsOursBeside: async (...args) =>
      (await import('../compose.ts')).checkIsOursBeside(...args),
    catchUpBeside: async (...args) => (await import('../compose.ts')).catchUpBeside(...args),
    backupDatabase: async (...args) => (await import('../open-store.ts')).backupDatabase(...args),
    moveStore: async (...args) => (await import('../open-store.ts')).moveStore(...args),
    undoMove: async (...args) => (await import('../open-store.ts')).undoMove(...args),
  }
}

/** `changed`: what a program that starts the command line replaces of the real machine. */
export async function main(changed: Partial<World> = {}): Promise<never> {
  // Some parts create databases and secrets without choosing a file mode.
  const umask = process.umask(0o077)
  const given = { ...realWorld(umask), ...changed }
  let wasStopped = false
  let listening = 0
  const world: World = {
    ...given,
    onStopSignal: (handler, alsoHangUp) => {
      listening += 1
      const removeHandler = given.onStopSignal((signal) => {
        wasStopped = true
        handler(signal)
      }, alsoHangUp)
      return () => {
        listening -= 1
        removeHandler()
      }
    },
  }
  const exitCode = await runCommandLine(process.argv.slice(2), world)
  const end = (): never =>
    process.exit(exitCode === 0 && world.terminal.lostAnswer() ? 1 : exitCode)
  // From here on, a signal ends the process at once. A command that still listens has said with
  // which exit code it ends, and so it does.
  if (listening > 0) given.onStopSignal(end, true)
  const { stdout, stderr } = world.inherited
  await finishOutput({ stdout, stderr, scheduler: world.scheduler, wasStopped })
  // If a server did not drain, its open connections would keep the process alive.
  return end()
}
