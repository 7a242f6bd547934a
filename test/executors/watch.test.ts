/**
 * Goal: a command that its node starts itself is guarded as one that the guard starts: no process
 * of it outlives its lease or its node, and none of another execution is touched.
 * Method: real processes under a real guard that only watches.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { watchCommand, type Watch } from '../../src/executors/command/watch.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { startChild } from '../chaos/child.ts'
import { until } from '../scenarios/until.ts'
import { execution, isAlive, parentOf, untilDead, type Execution } from './commands-world.ts'

beforeEach((context) => {
  if (process.platform !== 'linux') context.skip('finds the guard in /proc')
})

const tools = { clock: systemClock, scheduler: systemScheduler }
const open: Watch[] = []
const children: ChildProcess[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((watch) => watch.close()))
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

interface Watched extends Execution {
  readonly watch: Watch
  readonly child: ChildProcess
}

/** `leadsGroup`: as without a terminal. */
async function watched(script: string, leadsGroup = true, leaseMs = 60_000): Promise<Watched> {
  const made = execution(script)
  const { runId, env, cwd, command } = made.request
  const watch = watchCommand({ runId, env, folder: cwd, leaseMs }, tools)
  open.push(watch)
  await watch.ready
  const [program = '', ...args] = command
  const child = spawn(program, args, { env, cwd, detached: leadsGroup, stdio: 'ignore' })
  children.push(child)
  watch.started(child.pid!, leadsGroup)
  return { ...made, watch, child }
}

/** The guards of this process: its children that have a channel to it. */
function guards(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && isAlive(pid) && isOurs(pid))
    .filter((pid) => !children.some((child) => child.pid === pid))
}

/** Other programs of the machine end while we look at them. */
function isOurs(pid: number): boolean {
  try {
    return parentOf(pid) === process.pid
  } catch (error) {
    // ESRCH: it ended after its file was opened.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

const family = 'setsid stubborn away & stubborn child & mark own; exec stubborn last'

it.each([true, false])('the end of its lease kills it (its own group: %s)', async (leadsGroup) => {
  const { pidOf } = await watched(family, leadsGroup, 1500)
  const pids = await Promise.all(['own', 'child', 'away'].map(pidOf))
  for (const pid of pids) await untilDead(pid)
})

it('a renewal lets it live', async () => {
  const short = await watched('stubborn own', true, 1500)
  const long = await watched('stubborn own', true, 1500)
  const [first, second] = [await short.pidOf('own'), await long.pidOf('own')]
  long.watch.renew(60_000)
  await untilDead(first)
  expect(isAlive(second)).toBe(true)
})

it.each([true, false])('a stop ends it politely first (its own group: %s)', async (leadsGroup) => {
  const { watch, child, pidOf } = await watched('polite own', leadsGroup)
  await pidOf('own')
  const exit = once(child, 'exit')
  watch.stop(10_000)
  expect(await pidOf('got-term')).toBeGreaterThan(0)
  await exit
})

it('what it leaves behind is ended, and nothing of another execution', async () => {
  const other = await watched('stubborn own')
  const bystander = await other.pidOf('own')
  const { watch, child, pidOf } = await watched(
    'setsid stubborn away & stubborn child & wait-for go',
  )
  const pids = [await pidOf('away'), await pidOf('child')]
  child.kill('SIGKILL')
  await once(child, 'exit')
  await watch.exited(200)
  expect([...pids, bystander].map(isAlive)).toEqual([false, false, true])
})

it('a command that has ended cleanly costs no wait', async () => {
  const { watch, child } = await watched('exit 0')
  if (child.exitCode === null) await once(child, 'exit')
  const before = performance.now()
  await watch.exited(60_000)
  expect(performance.now() - before).toBeLessThan(10_000)
})

it('a guard that is killed is replaced, and the command lives on until it is stopped', async () => {
  const { watch, pidOf } = await watched(family)
  const pids = await Promise.all(['own', 'child', 'away'].map(pidOf))
  const [guard] = guards()
  process.kill(guard!, 'SIGKILL')
  await until(
    async () => guards(),
    (all) => all.length === 1 && all[0] !== guard,
  )
  expect(pids.map(isAlive)).toEqual([true, true, true])
  watch.stop(0)
  for (const pid of pids) await untilDead(pid)
})

it('a guard that is stopped does not keep the end of its command waiting', async () => {
  const { watch, child, pidOf } = await watched('setsid stubborn away & wait-for go')
  const away = await pidOf('away')
  for (const guard of guards()) process.kill(guard, 'SIGSTOP')
  child.kill('SIGKILL')
  await once(child, 'exit')
  await watch.exited(100)
  expect(isAlive(away)).toBe(false)
})

it('if guards are killed again and again, its node hears of it', async () => {
  const { watch } = await watched('stubborn own')
  let isLost = false
  void watch.lost.then(() => (isLost = true))
  await until(
    async () => {
      for (const guard of guards()) process.kill(guard, 'SIGKILL')
      return isLost
    },
    (lost) => lost,
  )
})

it('a node that dies before it says what it started leaves nothing behind', async () => {
  const { request, folder, pidOf } = execution(family)
  const node = startChild('../executors/watch-program.ts', request)
  const pids = await Promise.all(['own', 'child', 'away'].map(pidOf))
  node.process.kill('SIGKILL')
  for (const pid of pids) await untilDead(pid)
  await until(
    async () => existsSync(folder),
    (isThere) => !isThere,
  )
})
