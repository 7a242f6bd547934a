/** `holdfast worker` on the command line: its flags and its help. */
import type { Command } from 'commander'
import { addSettingFlags, givenFlags, secretsHelp } from './setting-flags.ts'
import type { World } from '../world.ts'

/** A worker listens on loopback only, at a free port, and only for its own commands. */
const onlyForServers = ['host', 'port', 'publicUrl', 'trustedProxies'] as const

export function addWorkerCommand(
  program: Command,
  world: World,
  finish: (exitCode: number) => void,
): void {
  const command = program
    .command('worker')
    .summary('execute runs and publish, without HTTP')
    .description(
      'Executes the runs of every type that the config file gives a function or a command, and ' +
        'publishes. Any number of workers may run beside a server, on any machine, with the same ' +
        'PostgreSQL. Once ready, prints the types that it executes to standard output. Stops ' +
        'cleanly on SIGTERM and SIGINT: it takes nothing new, lets work finish for ' +
        'HOLDFAST_SHUTDOWN_MS, and gives the rest back.',
    )
  addSettingFlags(command, { unused: onlyForServers })
    .addHelpText(
      'after',
      `
${secretsHelp()}

Examples:
  holdfast worker --database-url postgres://db/holdfast
  HOLDFAST_QUEUE_URL=redis://queue holdfast worker --database-url postgres://db/holdfast`,
    )
    .action(async (parsed: Readonly<Record<string, unknown>>) => {
      const config = parsed['config']
      const { work } = await import('./worker.ts')
      const flags = givenFlags(parsed)
      finish(await work(world, { flags, config: typeof config === 'string' ? config : undefined }))
    })
}
