/**
 * Goal: nothing survives of a command that its node starts after its lease has ended, as one does
 * that was stopped for a while.
 * Method: the guard itself on virtual time, with real processes.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Guard } from '../../src/executors/command/guard/guard.ts'
import type { FromGuard } from '../../src/executors/command/guard/messages.ts'
import { executionMarks } from '../../src/executors/command/processes.ts'
import type { Scheduler } from '../../src/scheduler.ts'
import { VirtualTime } from '../../src/simulation/virtual-time.ts'
import { execution, isAlive, untilDead, type Execution } from './commands-world.ts'

const id = 1
const leaseMs = 60_000
const graceMs = 5000
/** Far longer than the guard looks for a command that may just be starting. */
const longMs = 600_000

let time: VirtualTime
let timersSet: number
let said: FromGuard[]
let guard: Guard
let late: Execution
let child: ChildProcess | null

const scheduler: Scheduler = {
  soon: (task) => time.soon(task),
  after(ms, task) {
    timersSet += 1
    return time.after(ms, task)
  },
  afterInBackground: (ms, task) => time.afterInBackground(ms, task),
}

beforeEach((context) => {
  if (process.platform !== 'linux') context.skip('finds processes by their environment')
  time = new VirtualTime(0)
  timersSet = 0
  said = []
  child = null
  const send = (message: FromGuard): void => void said.push(message)
  guard = new Guard({ clock: time, scheduler, send, spared: [process.pid] })
})
afterEach(() => child?.kill('SIGKILL'))

/** The lease has ended, nothing was there, and the node, which was stopped, starts it after all. */
async function startLate(script: string): Promise<ChildProcess> {
  late = execution(script)
  const { runId, env, cwd, command } = late.request
  guard.receive({ type: 'watch', id, marks: executionMarks(runId, env), folder: null, leaseMs })
  await time.pass(leaseMs + longMs)
  const [program = '', ...args] = command
  child = spawn(program, args, { env, cwd, detached: true, stdio: 'ignore' })
  return child
}

const isGone = (): boolean => said.some(({ type }) => type === 'gone')

it('it is killed as soon as the node says that it was started', async () => {
  const { pid } = await startLate('setsid stubborn away & stubborn child & stubborn own')
  const pids = await Promise.all(['own', 'child', 'away'].map((name) => late.pidOf(name)))
  guard.receive({ type: 'watched-started', id, pid: pid!, leadsGroup: true })
  await time.pass(1000)
  for (const one of pids) await untilDead(one)
  expect(isGone()).toBe(false)
  guard.receive({ type: 'watched-exited', id, graceMs })
  await time.pass(0)
  expect(said.at(-1)).toEqual({ type: 'gone', id, leaseEnded: true })
})

it('what it has left behind is killed before the guard says that nothing is left', async () => {
  const started = await startLate('setsid stubborn away & wait-for go')
  const away = await late.pidOf('away')
  late.go('go')
  await once(started, 'exit')
  expect([isAlive(away), isGone()]).toEqual([true, false])
  guard.receive({ type: 'watched-exited', id, graceMs })
  await time.pass(0)
  await untilDead(away)
  await time.pass(1000)
  expect(isGone()).toBe(true)
})

it('it is killed if the node is gone before it says anything', async () => {
  await startLate('setsid stubborn away & stubborn own')
  const pids = [await late.pidOf('own'), await late.pidOf('away')]
  const gone = guard.nodeGone()
  for (const pid of pids) await untilDead(pid)
  await time.pass(1000)
  await gone
})

it('between its lease and its start, the guard looks at nothing', async () => {
  await startLate('exit 0')
  const before = timersSet
  await time.pass(longMs)
  expect(timersSet).toBe(before)
})
