/**
 * Goal: no command outlives its node, its guard or its lease, whichever of them dies or is stopped.
 * Method: real processes that are killed and stopped. Nodes are programs of their own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { renameSync, rmdirSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cutOffMs } from '../../src/cli/serve/until-stopped.ts'
import { systemClock } from '../../src/clock.ts'
import { killGraceMs, type CommandRequest } from '../../src/executors/command/commands.ts'
import { killPatienceMs } from '../../src/executors/command/guard/farewell.ts'
import { makePipe } from '../../src/executors/command/guard/output-pipe.ts'
import { killLeftOver } from '../../src/executors/command/kill-left-over.ts'
import { executionMarks, readProcesses } from '../../src/executors/command/processes.ts'
import { systemScheduler, type Scheduler } from '../../src/scheduler.ts'
import { startChild, type Child } from '../chaos/child.ts'
import { until } from '../scenarios/until.ts'
import { seed, seeded } from '../seed.ts'
import {
  execution,
  isAlive,
  memoryOf,
  openCommands,
  parentOf,
  untilDead,
} from './commands-world.ts'

const commands = openCommands()
afterAll(() => commands.close())

beforeEach((context) => {
  if (process.platform !== 'linux') context.skip('finds the guard in /proc')
})

const family = 'setsid stubborn away & stubborn child & mark own; exec stubborn last'
const names = ['own', 'child', 'away']

/** Killed after their test, because a test that fails may leave them stopped. */
const toKill: number[] = []
afterEach(() => {
  for (const pid of toKill.splice(0).filter(isAlive)) process.kill(pid, 'SIGKILL')
})

function nodeOf(...requests: readonly CommandRequest[]): Child {
  const node = startChild('../executors/node-program.ts', requests)
  toKill.push(node.process.pid!)
  return node
}

function guardOf(pid: number): number {
  const guard = parentOf(pid)
  toKill.push(guard)
  return guard
}

describe('when the node', () => {
  it.each(['SIGKILL', 'SIGSEGV'] as const)(
    'dies by %s, nothing of its commands is left',
    async (signal) => {
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-run-'))
      const started = execution(family, { folder })
      const node = nodeOf(started.request)
      const pids = await Promise.all(names.map(started.pidOf))
      const guard = parentOf(pids[0]!)
      node.process.kill(signal)
      await node.ended
      await Promise.all([...pids, guard].map(untilDead))
      expect(existsSync(folder)).toBe(false)
    },
  )

  it('dies after a command has ended, its files are removed, and no others', async () => {
    const folders = Array.from({ length: 3 }, () => mkdtempSync(join(tmpdir(), 'holdfast-run-')))
    const [first, second, third] = folders.map((folder) => execution('mark own', { folder }))
    const node = nodeOf(first!.request, second!.request, third!.request)
    await Promise.all([first!, second!, third!].map(({ pidOf }) => pidOf('own')))
    await node.report
    // As if the node had removed one, and another node had made one under the same name.
    const others = join(folders[0]!, '..', `${basename(folders[0]!)}-other`)
    mkdirSync(others)
    rmdirSync(folders[0]!)
    renameSync(others, folders[0]!)
    node.process.kill('SIGKILL')
    await node.ended
    await until(
      async () => existsSync(folders[1]!) || existsSync(folders[2]!),
      (areThere) => !areThere,
    )
    expect(existsSync(folders[0]!)).toBe(true)
    rmdirSync(folders[0]!)
  })

  it('exits without closing, nothing of its commands is left', async () => {
    const started = execution(family)
    const node = nodeOf(started.request)
    const pids = await Promise.all(names.map(started.pidOf))
    await node.ready
    node.go()
    await node.ended
    await Promise.all(pids.map(untilDead))
  })

  it('is stopped past its lease, the command is killed while the node is stopped', async () => {
    const started = execution(family, { leaseMs: 1000 })
    const node = nodeOf(started.request)
    const pids = await Promise.all(names.map(started.pidOf))
    node.process.kill('SIGSTOP')
    await Promise.all(pids.map(untilDead))
    expect(readFileSync(`/proc/${node.process.pid}/stat`, 'latin1')).toMatch(/\) T/)
    node.process.kill('SIGCONT')
    expect(await node.report).toMatchObject({ failure: 'lease_ended', signal: 'SIGKILL' })
    await node.kill()
  })

  it('is stopped while others end with much output, the lease still counts', async () => {
    const last = execution('mark own; exec sleep 60', { leaseMs: 3000 })
    const floods = Array.from({ length: 20 }, () =>
      execution('mark own; wait-for go; head -c 70000 /dev/zero'),
    )
    const node = nodeOf(...[...floods, last].map(({ request }) => request))
    const pids = await Promise.all([...floods, last].map(({ pidOf }) => pidOf('own')))
    node.process.kill('SIGSTOP')
    for (const flood of floods) flood.go('go')
    await Promise.all(pids.map(untilDead))
    node.process.kill('SIGCONT')
    expect(await node.report).toMatchObject({ failure: 'lease_ended' })
  })

  describe('is blocked', () => {
    const { reading, writing } = makePipe('refuses')!
    const blocked = openCommands({ leaseSigns: reading })
    afterAll(async () => {
      await blocked.close()
      closeSync(reading)
      closeSync(writing)
    })

    /** Whatever the guard was told before, it has read then. */
    const roundTrip = () => blocked.run(execution('exit 0').request).ended

    it('a command lives for as long as the thread that renews leases has said', async () => {
      const { request, pidOf, go } = execution('mark own; wait-for go; exit 3')
      const running = blocked.run({ ...request, leaseHash: 'its-lease' })
      const pid = await pidOf('own')
      writeSync(writing, 'its-lease 600')
      writeSync(writing, '00\n\nno lease\nits-lease 1\n')
      await roundTrip()
      // What the node knew before it was blocked.
      running.renew(0)
      await roundTrip()
      expect(isAlive(pid)).toBe(true)
      go('go')
      expect(await running.ended).toMatchObject({ exitCode: 3 })
    })

    it('it is killed once the thread renews no more', async () => {
      const { request, pidOf } = execution('mark own; exec sleep 60')
      const running = blocked.run({ ...request, leaseHash: 'its-lease' })
      await pidOf('own')
      const before = performance.now()
      writeSync(writing, 'its-lease 1000\n')
      await roundTrip()
      running.renew(0)
      expect(await running.ended).toMatchObject({ failure: 'lease_ended' })
      expect(performance.now() - before).toBeGreaterThan(900)
    })

    it('another lease says nothing about it', async () => {
      const { request, pidOf } = execution('mark own; exec sleep 60')
      const running = blocked.run({ ...request, leaseHash: 'its-lease' })
      await pidOf('own')
      writeSync(writing, 'another-lease 60000\n')
      await roundTrip()
      running.renew(0)
      expect(await running.ended).toMatchObject({ failure: 'lease_ended' })
    })
  })

  it('has nothing left to do, the guard does not keep it alive', async () => {
    const program = `
      const { openCommands, execution } = await import(process.argv[1])
      const { output } = await openCommands().run(execution('echo hello').request).ended
      console.log(output.trim())`
    const world = import.meta.resolve('./commands-world.ts')
    const node = spawn(process.execPath, ['--input-type=module', '-e', program, world], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    toKill.push(node.pid!)
    const [line] = (await once(node.stdout, 'data')) as [Buffer]
    expect(line.toString()).toBe('hello\n')
    expect(await once(node, 'exit')).toEqual([0, null])
  })
})

describe('when the guard', () => {
  it('is killed, nothing of its commands is left, and the next command gets another', async () => {
    const lost = [execution(family), execution('exec stubborn own')]
    const running = lost.map(({ request }) => commands.run(request))
    const pids = [...(await Promise.all(names.map(lost[0]!.pidOf))), await lost[1]!.pidOf('own')]
    const guard = parentOf(pids[0]!)
    process.kill(guard, 'SIGKILL')
    for (const { ended } of running) {
      expect(await ended).toMatchObject({ failure: 'guard_lost', exitCode: null, signal: null })
    }
    expect(pids.filter(isAlive)).toEqual([])
    const next = execution('mark own; wait-for go; exit 5')
    const again = commands.run(next.request)
    expect(parentOf(await next.pidOf('own'))).not.toBe(guard)
    next.go('go')
    expect(await again.ended).toMatchObject({ exitCode: 5 })
  })

  it('is killed while it ends what a command left behind, the node ends that', async () => {
    const left = execution(
      '(setsid stubborn away & stubborn child) >/dev/null 2>&1 & mark own; wait-for go',
    )
    const running = commands.run(left.request)
    const guard = parentOf(await left.pidOf('own'))
    const pids = await Promise.all(['away', 'child'].map(left.pidOf))
    left.go('go')
    expect(await running.ended).toMatchObject({ exitCode: 0, failure: null })
    expect(pids.filter(isAlive)).toEqual(pids)
    process.kill(guard, 'SIGKILL')
    await Promise.all(pids.map(untilDead))
  })

  it('is killed at any moment of a start, no process is left', async () => {
    const below = seeded(seed)
    for (let round = 0; round < 10; round += 1) {
      const warm = execution('mark own; wait-for go')
      const first = commands.run(warm.request)
      const guard = parentOf(await warm.pidOf('own'))
      const { request } = execution('setsid stubborn away & exec stubborn own')
      const running = commands.run(request)
      await pause(below(12))
      process.kill(guard, 'SIGKILL')
      expect(await running.ended).toMatchObject({ failure: 'guard_lost' })
      await first.ended
      const marks = executionMarks(request.runId, request.env)
      expect(readProcesses([]).strays(marks, null)).toEqual([])
    }
  })

  it('is lost in the middle of a start, what appears a moment later is killed', async () => {
    const late = execution('exec stubborn own')
    const { runId, env, command } = late.request
    const left = { pid: null, marks: executionMarks(runId, env) }
    const cleanup = killLeftOver([left], [process.pid], systemScheduler)
    await pause(100)
    const child = spawn(command[0]!, command.slice(1), { env, stdio: 'ignore', detached: true })
    await once(child, 'exit')
    expect(child.signalCode).toBe('SIGKILL')
    await cleanup
  })

  it('gets the signals of a service manager, it goes on', async () => {
    const started = execution('mark own; wait-for go; exit 6')
    const running = commands.run(started.request)
    const guard = parentOf(await started.pidOf('own'))
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.kill(guard, signal)
    started.go('go')
    expect(await running.ended).toMatchObject({ exitCode: 6 })
    expect(isAlive(guard)).toBe(true)
  })

  it('no longer answers, a stop gives it up and the node kills the command', async () => {
    // The node's patience, without the wait.
    let patienceMs = 0
    const scheduler: Scheduler = {
      ...systemScheduler,
      after: (ms, task) => {
        if (ms <= killGraceMs) return systemScheduler.after(ms, task)
        patienceMs = ms
        return systemScheduler.after(200, task)
      },
    }
    const impatient = openCommands({ scheduler })
    const started = execution(family)
    const running = impatient.run(started.request)
    const pids = await Promise.all(names.map(started.pidOf))
    process.kill(guardOf(pids[0]!), 'SIGSTOP')
    running.stop()
    expect(await running.ended).toMatchObject({ failure: 'guard_lost' })
    expect(pids.filter(isAlive)).toEqual([])
    // A guard that answers says how the command ended. A node that stops has the time to kill.
    expect(patienceMs).toBeGreaterThanOrEqual(killGraceMs + killPatienceMs + 500)
    expect(patienceMs).toBeLessThanOrEqual(cutOffMs - 400)
    await impatient.close()
  })

  it('is late with a start, the lease is not longer for it', async () => {
    let ahead = 0
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + ahead }
    const punctual = openCommands({ clock })
    const first = execution('exec sleeper own')
    const warm = punctual.run(first.request)
    const guard = guardOf(await first.pidOf('own'))
    process.kill(guard, 'SIGSTOP')
    const late = punctual.run(execution('exec sleep 60', { leaseMs: 60_000 }).request)
    ahead = 60_000
    process.kill(guard, 'SIGCONT')
    expect(await late.ended).toMatchObject({ failure: 'lease_ended' })
    warm.stop()
    expect(await warm.ended).toMatchObject({ signal: 'SIGTERM' })
    await punctual.close()
  })

  it('no longer reads, renewals do not pile up in the node', async () => {
    const started = execution('exec sleeper own')
    const running = commands.run(started.request)
    const pid = await started.pidOf('own')
    const guard = guardOf(pid)
    process.kill(guard, 'SIGSTOP')
    const before = memoryOf(process.pid).now
    for (let n = 0; n < 300_000; n += 1) {
      running.renew(60_000)
      if (n % 1000 === 0) await pause(0)
    }
    expect(memoryOf(process.pid).now - before).toBeLessThan(60_000)
    process.kill(guard, 'SIGCONT')
    running.renew(100)
    expect(await running.ended).toMatchObject({ failure: 'lease_ended' })
  })
})

describe('the guard', () => {
  it('has nothing of the environment of its node but what it needs', async () => {
    const before = { ...process.env }
    process.env['HOLDFAST_RUN_ID'] = 'run_that_this_process_belongs_to'
    process.env['HOLDFAST_ADMIN_TOKEN'] = 'hunter2'
    const fresh = openCommands()
    const started = execution('mark own; wait-for go')
    const running = fresh.run(started.request)
    const guard = parentOf(await started.pidOf('own'))
    const environ = readFileSync(`/proc/${guard}/environ`, 'utf8')
    expect(environ).toContain('PATH=')
    expect(environ).not.toMatch(/HOLDFAST|hunter2/)
    started.go('go')
    await running.ended
    await fresh.close()
    expect(isAlive(guard)).toBe(false)
    process.env = before
  })

  it('reads both outputs where there is no mkfifo', async () => {
    const before = process.env['PATH']
    process.env['PATH'] = '/nowhere'
    const fresh = openCommands()
    const { request } = execution('echo out; sleep 0.2; echo err >&2; exit 9', {
      env: { PATH: before ?? '' },
    })
    expect(await fresh.run(request).ended).toMatchObject({ exitCode: 9, output: 'out\nerr\n' })
    process.env['PATH'] = before
    await fresh.close()
  })
})
