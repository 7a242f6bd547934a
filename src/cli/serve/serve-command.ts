/** `holdfast serve` on the command line: its flags and its help. */
import type { Command } from 'commander'
import { addSettingFlags, givenFlags, secretsHelp } from './setting-flags.ts'
import type { World } from '../world.ts'

export function addServeCommand(
  program: Command,
  world: World,
  finish: (exitCode: number) => void,
): void {
  const command = program
    .command('serve')
    .summary('receive webhooks and serve the HTTP API')
    .description(
      'Receives GitHub webhooks at /webhooks/github and makes one run of each. Serves the HTTP ' +
        'API, through which workers in any language claim, lease and finish runs. Executes the ' +
        'runs of types that the config file gives a function or a command. Shows progress and ' +
        'results on GitHub. Logs to standard error: readable on a terminal, otherwise a line of ' +
        'JSON each. What it says at its start (mode, database, new secrets) is plain text in ' +
        'both. Once ready, prints the address it listens on to standard output. Stops cleanly ' +
        'on SIGTERM and SIGINT.',
    )
    .option('--no-work', 'execute no runs in this process')
  addSettingFlags(command)
    .addHelpText(
      'after',
      `
${secretsHelp()}

Examples:
  holdfast serve --port 9000 --data-dir /var/lib/holdfast
  HOLDFAST_ADMIN_TOKEN_FILE=/run/admin holdfast serve --database-url postgres://db/holdfast`,
    )
    .action(async (parsed: Readonly<Record<string, unknown>>) => {
      const config = parsed['config']
      const { serve } = await import('./serve.ts')
      const exitCode = await serve(world, {
        flags: givenFlags(parsed),
        config: typeof config === 'string' ? config : undefined,
        work: parsed['work'] !== false,
      })
      finish(exitCode)
    })
}
