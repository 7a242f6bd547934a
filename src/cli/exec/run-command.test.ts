/**
 * Goal: if this process was stopped for a while, no command starts without a lease, and one that
 * ended meanwhile has ended by itself.
 * Method: a real command. Its lease ends while it is prepared, or before anybody hears of its end.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Watch } from '../../executors/command/watch.ts'
import { systemScheduler } from '../../scheduler.ts'
import type { Interruption } from './interruption.ts'
import type { KeptLease, Loss } from './keep-lease.ts'
import { runCommand, type CommandRun } from './run-command.ts'

beforeEach((context) => {
  if (process.platform !== 'linux') context.skip('reads /proc')
})

const never = new Promise<never>(() => undefined)

const away: Loss = { code: 'away', text: 'its lease could not be renewed' }

/** `meanwhile`: what happens while this process hears of nothing. */
function run(
  script: string,
  meanwhile: (pid: number) => void = () => undefined,
  lossByNow: () => Loss | null = () => null,
): Promise<CommandRun> {
  const { promise: lost, resolve: lose } = Promise.withResolvers<Loss>()
  const watch = {
    ...{ lost: never, marks: null, stop: () => undefined },
    started(pid: number) {
      setTimeout(() => lose(away), 1)
      meanwhile(pid)
    },
  } as unknown as Watch
  const env = { PATH: process.env['PATH'] ?? '' }
  return runCommand({
    command: { command: ['sh', '-c', script], cwd: '/', env, secrets: [] },
    inherited: { isTerminal: false, stdout: process.stdout, stderr: process.stderr, umask: 0o022 },
    watch,
    kept: { lost, lossByNow, leftMs: () => 0, stop: () => undefined } satisfies KeptLease,
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
  const { stop } = await run('sleep 0.2')
  expect(stop).toMatchObject({ by: 'loss', loss: { code: 'away' } })
})

describe('a lease that ends while the pipes of the command are made', () => {
  let folder: string

  // It comes before the real one.
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-mkfifo-'))
    const path = process.env['PATH'] ?? ''
    const script = `#!/bin/sh\ntouch ${folder}/made\nPATH=${path} exec mkfifo "$@"\n`
    writeFileSync(join(folder, 'mkfifo'), script, { mode: 0o700 })
    vi.stubEnv('PATH', `${folder}:${path}`)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true })
  })

  it('starts nothing', async () => {
    const lossByNow = (): Loss | null => (existsSync(join(folder, 'made')) ? away : null)
    const { end, stop } = await run(`touch ${folder}/ran`, () => undefined, lossByNow)
    expect(stop).toEqual({ by: 'loss', loss: away })
    expect([end.failure, existsSync(join(folder, 'ran'))]).toEqual(['not_started', false])
  })
})
