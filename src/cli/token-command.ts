/** `holdfast token` on the command line: its flags and its help. */
import { Option as Flag, type Command } from 'commander'
import type { OptionKey } from '../settings/options.ts'
import { addSettingFlags, givenFlags } from './setting-flags.ts'
import { createToken } from './token-create.ts'
import type { World } from './world.ts'

/** What finds the database. */
const databaseKeys: readonly OptionKey[] = ['dataDir', 'databaseUrl']

export function addTokenCommand(program: Command, world: World): void {
  const token = program.command('token').description('Tokens for workers, bots and people.')
  const create = token
    .command('create')
    .summary('make a token and print it')
    .description(
      'Makes a token and prints it on standard output, this once; only its hash is kept. ' +
        'Goes to a server when --url is given, else straight to the database.',
    )
    .option('--scope <scope>', 'what it may do: admin, operator, worker, read or bot:CHANNEL')
    .option('--name <name>', 'whose it is, for lists and the audit')
    .option('--user-id <number>', 'recipient on whose behalf it acts')
    .option('--json', 'print {"id","token","scope"}')
    .addOption(new Flag('--url <url>', 'server to ask').helpGroup('Through a server:'))
    .addOption(
      new Flag(
        '--token <token>',
        'admin token for it (better: HOLDFAST_TOKEN or HOLDFAST_ADMIN_TOKEN)',
      ).helpGroup('Through a server:'),
    )
  addSettingFlags(create, databaseKeys)
    .addHelpText(
      'after',
      `
Examples:
  holdfast token create --scope worker --name builder-1
  holdfast token create --scope bot:telegram --json
  HOLDFAST_TOKEN_FILE=admin holdfast token create --scope read --url https://holdfast.example.com`,
    )
    .action(async (parsed: Readonly<Record<string, unknown>>) => {
      const text = (key: string): string | undefined => {
        const value = parsed[key]
        return typeof value === 'string' ? value.trim() : undefined
      }
      await createToken(world, {
        scope: text('scope'),
        name: text('name'),
        userId: text('userId'),
        json: parsed['json'] === true,
        url: text('url'),
        token: text('token'),
        config: text('config'),
        flags: givenFlags(parsed),
      })
    })
}
