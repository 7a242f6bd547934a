/**
 * Runs the whole command line: parses it, runs the command and prints failures. Returns the exit
 * code; nothing in here ends the process. Only the command that is needed is loaded, so that no
 * command waits for the code of the others.
 */
import { Command, CommanderError } from 'commander'
import { commandGroups, type AddCommand } from './commands.ts'
import { exitCodeOf, exitCodes, failureText, type UsageError } from './failure.ts'
import { printNote, printText, wrapMessage } from './output/fit-text.ts'
import type { World } from './world.ts'

export async function runCommandLine(argv: readonly string[], world: World): Promise<number> {
  let exitCode: number = exitCodes.fine
  const finish = (code: number): void => {
    exitCode = code
  }
  try {
    const program = await buildProgram(argv, world, finish)
    if (argv.includes('help')) {
      const { refuseUnknownTopic } = await import('./wrong-usage.ts')
      refuseUnknownTopic(argv, program)
    }
    await program.parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) {
      // If the command is missing, the parser prints the help. That is wrong usage.
      return error.exitCode === 0 ? exitCodes.fine : exitCodes.wrongUsage
    }
    const failure = error instanceof ParserError ? await error.asUsageError() : error
    printNote(world.terminal, failureText(failure))
    return exitCodeOf(failure)
  }
}

/** An error of the parser. Its message needs all settings, so the code for it is loaded late. */
class ParserError extends Error {
  readonly #error: CommanderError
  readonly #command: Command

  constructor(error: CommanderError, command: Command) {
    super(error.message)
    this.#error = error
    this.#command = command
  }

  async asUsageError(): Promise<UsageError> {
    const { usageError } = await import('./wrong-usage.ts')
    return usageError(this.#error, this.#command)
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
    .helpOption(...helpOption)
    .addHelpText(
      'after',
      `
Examples:
  holdfast serve                          start on SQLite in ./data
  holdfast token create --scope worker    make a token for a worker
  holdfast why acme/widgets#5             what happened there, and why
  holdfast doctor                         is everything set up right?

Exit codes:
  0  success
  1  failure; also a store that is damaged, not Holdfast's, newer, in use or in another mode
  2  wrong usage or wrong settings
  3  could not reach a server or the database

Settings come from flags, then the environment, then holdfast.config.ts.
Commands ask a server if --url or HOLDFAST_URL names one.
Otherwise they open the database that the settings name.`,
    )
  for (const [group, add] of await loadCommands(argv)) {
    program.commandsGroup(group)
    add(program, world, finish)
  }
  program.commandsGroup('More:').helpCommand(...helpCommand)
  configureOutput(program, world)
  return program
}

/** Loads the command that the first word names; all commands for help or an unknown word. */
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

const helpOption = ['-h, --help', 'print this help'] as const
const helpCommand = ['help [command]', 'print the help of a command'] as const
const helpWidthPiped = 80
/** A column of the help is wrapped if it has at least this width. */
const helpWidthMin = 20

/** Makes this command and all commands below it write to our terminal and throw our errors. */
function configureOutput(command: Command, world: World): void {
  const { columns, errColumns } = world.terminal
  command
    .helpOption(...helpOption)
    .showSuggestionAfterError(false)
    .configureHelp({
      ...command.configureHelp(),
      minWidthToWrap: helpWidthMin,
      boxWrap: (text, width) => wrapMessage(text, width).join('\n'),
    })
    .configureOutput({
      getOutHelpWidth: () => columns ?? helpWidthPiped,
      getErrHelpWidth: () => errColumns ?? helpWidthPiped,
      // Commander wraps only its own part of the help, not the examples and notes after it.
      writeOut: (text) => printText(world.terminal, text),
      writeErr: (text) => printNote(world.terminal, text),
      outputError: () => undefined,
    })
    .exitOverride((error) => {
      const isHelp = error.exitCode === 0 || error.code === 'commander.help'
      throw isHelp ? error : new ParserError(error, command)
    })
  if (command.commands.length > 0) command.helpCommand(...helpCommand)
  for (const child of command.commands) configureOutput(child, world)
}
