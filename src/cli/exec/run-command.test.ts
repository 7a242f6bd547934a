/**
 * Goal: a command that ended while this process was stopped has ended by itself.
 * Method: a real command, whose end nobody hears of before the end of its lease.
 */
import { readFileSync } from 'node:fs'
import { beforeEach, expect, it } from 'vitest'
import type { Watch } from '../../executors/command/watch.ts'
import { systemScheduler } from '../../scheduler.ts'
import type { Interruption } from './interruption.ts'
import type { KeptLease, Loss } from './keep-lease.ts'
import { runCommand, type CommandRun } from './run-command.ts'

beforeEach((context) => {
  if (process.platform !== 'linux') context.skip('reads /proc')
})

const never = new Promise<never>(() => undefined)

/** `meanwhile`: what happens while this process hears of nothing. */
function run(script: string, meanwhile: (pid: number) => void): Promise<CommandRun> {
  const { promise: lost, resolve: lose } = Promise.withResolvers<Loss>()
  const watch = {
    ...{ lost: never, marks: null, stop: () => undefined },
    started(pid: number) {
      setTimeout(() => lose({ code: 'away', text: 'its lease could not be renewed' }), 1)
      meanwhile(pid)
    },
  } as unknown as Watch
  const env = { PATH: process.env['PATH'] ?? '' }
  return runCommand({
    command: { command: ['sh', '-c', script], cwd: '/', env, secrets: [] },
    inherited: { isTerminal: false, stdout: process.stdout, stderr: process.stderr, umask: 0o022 },
    watch,
    kept: { lost, loss: null, leftMs: () => 0, stop: () => undefined } satisfies KeptLease,
    interruption: { name: null, onEach: () => undefined } as unknown as Interruption,
    scheduler: systemScheduler,
    say: () => undefined,
  })
}

function blockUntilExit(pid: number): void {
  const begunAtMs = performance.now()
  while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')) continue
  // The timer of the lease is due as well.
  while (performance.now() - begunAtMs < 5) continue
}

it.each([0, 7])(
  'its own end counts, if it came before the end of the lease was noticed: %i',
  async (exitCode) => {
    const { end, stop } = await run(`exit ${exitCode}`, blockUntilExit)
    expect([end.exitCode, stop]).toEqual([exitCode, null])
  },
)

it('otherwise it is stopped', async () => {
  const { stop } = await run('sleep 0.2', () => undefined)
  expect(stop).toMatchObject({ by: 'loss', loss: { code: 'away' } })
})
