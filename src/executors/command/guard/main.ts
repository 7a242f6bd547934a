/**
 * The guard as a program. The node starts it with a channel and in a session of its own, where no
 * key of a terminal reaches it. It is small and imports little, because every node has one.
 */
import { systemClock } from '../../../clock.ts'
import { systemScheduler } from '../../../scheduler.ts'
import { Guard } from './guard.ts'
import { readSigns, signsArgument, signsFd } from './lease-signs.ts'
import type { FromGuard, ToGuard } from './messages.ts'

const guard = new Guard({
  clock: systemClock,
  scheduler: systemScheduler,
  // If it cannot be sent, the node is gone, and the channel says so too.
  send: (message: FromGuard) => void process.send?.(message, undefined, undefined, () => undefined),
  spared: [process.pid, process.ppid],
})

// A service manager signals every process at once. The node decides what happens to its commands.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)

process.on('message', (message) => guard.receive(message as ToGuard))
if (process.argv.includes(signsArgument)) readSigns(signsFd, (sign) => guard.leaseRenewed(sign))
process.on('disconnect', () => void guard.nodeGone().then(() => process.exit()))
process.on('exit', () => guard.killGroups())
