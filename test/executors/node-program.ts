/** A node of its own that runs one command, renews its lease, and reports how the command ended. */
import type { CommandRequest } from '../../src/executors/command/commands.ts'
import { report, settings, untilLetGo } from '../chaos/child.ts'
import { openCommands } from './commands-world.ts'

const { request, renewEveryMs } = settings() as { request: CommandRequest; renewEveryMs: number }
const commands = openCommands()
const running = commands.run(request)
setInterval(() => running.renew(request.leaseMs), renewEveryMs)
void running.ended.then(report)
// The second word is the last one: this ends as a program that forgets to close anything.
void untilLetGo().then(() => process.exit())
