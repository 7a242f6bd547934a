/** A node of its own that has a command watched, starts it, and does not say so. */
import { spawn } from 'node:child_process'
import { systemClock } from '../../src/clock.ts'
import { watchCommand } from '../../src/executors/command/watch.ts'
import type { CommandRequest } from '../../src/executors/command/commands.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { settings, untilLetGo } from '../chaos/child.ts'

const { runId, command, env, cwd } = settings() as CommandRequest
const tools = { clock: systemClock, scheduler: systemScheduler }
const watch = watchCommand({ runId, env, folder: cwd, leaseMs: 60_000 }, tools)
await watch.ready
const [program = '', ...args] = command
spawn(program, args, { env, cwd, detached: true, stdio: 'ignore' })
void untilLetGo().then(() => process.exit())
