/**
 * A node of its own that runs commands, renews the lease of the last one, and reports how that one
 * ended.
 */
import type { CommandRequest } from '../../src/executors/command/commands.ts'
import { report, settings, untilLetGo } from '../chaos/child.ts'
import { openCommands } from './commands-world.ts'

const requests = settings() as readonly CommandRequest[]
const commands = openCommands()
const last = requests.map((request) => ({ request, running: commands.run(request) })).at(-1)!
setInterval(() => last.running.renew(last.request.leaseMs), 50)
void last.running.ended.then(report)
// It ends as a program does that forgets to close anything.
void untilLetGo().then(() => process.exit())
