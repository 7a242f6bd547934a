/**
 * Goal: if this process was stopped for a while, no command starts without a lease, and one that
 * ended meanwhile has ended by itself. A short lease does not shorten the time that a command has.
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

interface Given {
  /** What happens while this process hears of nothing. */
  readonly meanwhile?: (pid: number) => void
  readonly lossByNow?: () => Loss | null
  /** Right after the start. */
  readonly loss?: Loss
  /** What the guard is told. */
  readonly guard?: Partial<Watch>
}

function run(script: string, given: Given = {}): Promise<CommandRun> {
  const { meanwhile = () => undefined, lossByNow = () => null, loss = away, guard = {} } = given
  const { promise: lost, resolve: lose } = Promise.withResolvers<Loss>()
  const watch = {
    ...{ lost: never, marks: null, stop: () => undefined },
    ...guard,
    started(pid: number, leadsGroup: boolean) {
      guard.started?.(pid, leadsGroup)
      setTimeout(() => lose(loss), 1)
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
    const { end, stop } = await run(`exit ${exitCode}`, { meanwhile: blockUntilExit })
    expect([end.exitCode, stop]).toEqual([exitCode, null])
  },
)

it('otherwise it is stopped', async () => {
  const { stop } = await run('sleep 0.2')
  expect(stop).toMatchObject({ by: 'loss', loss: { code: 'away' } })
})

it.each([
  ['ended', [16_000]],
  ['superseded', [6000]],
  ['cancelled', [6000]],
  // Somebody else may begin when the lease ends.
  ...(['lease_lost', 'refused', 'away'] as const).map((code) => [code, []] as const),
] as const)(
  'after %s, the lease that the guard knows is renewed by %j ms',
  async (code, expected) => {
    const renewals: number[] = []
    let group = 0
    // The first thing that the guard is told ends the command.
    const kill = (): void => void process.kill(-group, 'SIGKILL')
    const guard: Partial<Watch> = {
      started: (pid) => void (group = pid),
      renew(ms) {
        renewals.push(ms)
        kill()
      },
      stop() {
        if (renewals.length === 0) kill()
      },
    }
    const { stop } = await run('sleep 60', { loss: { code, text: '' }, guard })
    expect([renewals, stop]).toMatchObject([expected, { loss: { code } }])
  },
)

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
    const { end, stop } = await run(`touch ${folder}/ran`, { lossByNow })
    expect(stop).toEqual({ by: 'loss', loss: away })
    expect([end.failure, existsSync(join(folder, 'ran'))]).toEqual(['not_started', false])
  })
})
