/**
 * The command line as a whole: how it is read, and what becomes of failures. The answer is the exit
 * code; nothing in here ends the process. Of the commands only the one that is asked for is loaded,
 * so that no command waits for the parts of the others.
 */
import { Command, CommanderError } from 'commander'
import { commandGroups, type AddCommand } from './commands.ts'
import { exitCodeOf, exitCodes, failureText, type UsageError } from './failure.ts'
import type { World } from './world.ts'

export async function runCommandLine(argv: readonly string[], world: World): Promise<number> {
  let exitCode: number = exitCodes.fine
  const finish = (code: number): void => {
    exitCode = code
  }
  try {
    const program = await buildProgram(argv, world, finish)
    await program.parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help that nobody asked for stands for a command that is missing.
      return error.exitCode === 0 ? exitCodes.fine : exitCodes.wrongUsage
    }
    const failure = error instanceof NotUnderstood ? await error.asUsageError() : error
    world.terminal.err(failureText(failure))
    return exitCodeOf(failure)
  }
}

/** What the parser complained of. The words for it need every setting, so they are loaded late. */
class NotUnderstood extends Error {
  readonly #complaint: CommanderError
  readonly #command: Command

  constructor(complaint: CommanderError, command: Command) {
    super(complaint.message)
    this.#complaint = complaint
    this.#command = command
  }

  async asUsageError(): Promise<UsageError> {
    const { usageError } = await import('./wrong-usage.ts')
    return usageError(this.#complaint, this.#command)
  }
}

async function buildProgram(
  argv: readonly string[],
  world: World,
  finish: (exitCode: number) => void,
): Promise<Command> {
  const program = new Command('holdfast')
    .description(
      'Keeps the promises a GitHub bot makes: every webhook becomes one run, held by a lease, ' +
        'superseded by newer heads, and audited; and it says why.',
    )
    .version(world.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText(
      'after',
      `
Examples:
  holdfast serve                          start on SQLite in ./data
  holdfast token create --scope worker    make a token for a worker
  holdfast why acme/widgets#5             what happened there, and why
  holdfast doctor                         is everything set up right?

Exit codes:
  0  fine
  1  failed; also a store that is damaged, foreign, held by another server or in another mode
  2  wrong usage or wrong settings
  3  could not reach a server or the database
Settings come from flags, then the environment, then holdfast.config.ts. Commands that operate ask
a server when --url or HOLDFAST_URL names one, else the database that the settings find.`,
    )
  for (const [group, add] of await loadCommands(argv)) {
    program.commandsGroup(group)
    add(program, world, finish)
  }
  program.commandsGroup('More:').helpCommand('help [command]', 'print the help of a command')
  settle(program, world)
  return program
}

/** The one that the first word names; all for help and for a word that names none. */
async function loadCommands(
  argv: readonly string[],
): Promise<readonly (readonly [group: string, add: AddCommand])[]> {
  const [word = ''] = argv
  if (word === '--version' || word === '-V') return []
  const every = Object.entries(commandGroups).flatMap(([group, commands]) =>
    Object.entries(commands).map(([name, load]) => ({ group, name, load })),
  )
  const named = every.filter(({ name }) => name === word)
  const wanted = named.length > 0 ? named : every
  return await Promise.all(wanted.map(async ({ group, load }) => [group, await load()] as const))
}

/** Every command, however deep, writes to our terminal and hands its complaints to us. */
function settle(command: Command, world: World): void {
  command
    .helpOption('-h, --help', 'print this help')
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: (text) => world.terminal.out(text),
      writeErr: (text) => world.terminal.err(text),
      outputError: () => undefined,
    })
    .exitOverride((error) => {
      const asked = error.exitCode === 0 || error.code === 'commander.help'
      throw asked ? error : new NotUnderstood(error, command)
    })
  for (const child of command.commands) settle(child, world)
}
