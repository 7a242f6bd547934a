/**
 * The command line as a whole: which commands there are, and what becomes of their failures. The
 * answer is the exit code; nothing in here ends the process.
 */
import { Command, CommanderError } from 'commander'
import { exitCodeOf, exitCodes, failureText } from './failure.ts'
import { addAuditCommand } from './audit-command.ts'
import { addBackupCommand } from './backup-command.ts'
import { addBudgetsCommand } from './budgets-command.ts'
import { addCatchupCommand } from './catchup-command.ts'
import { addDeliveriesCommand } from './deliveries-command.ts'
import { addDoctorCommand } from './doctor-command.ts'
import { addInboxCommand } from './inbox-command.ts'
import { addMigrateCommand } from './migrate-command.ts'
import { addPurgeCommand } from './purge-command.ts'
import { addRunsCommand } from './runs-command.ts'
import { addServeCommand } from './serve-command.ts'
import { addSimulateCommand } from './simulate-command.ts'
import { addTokenCommand } from './token-command.ts'
import { addWhyCommand } from './why-command.ts'
import type { World } from './world.ts'
import { usageError } from './wrong-usage.ts'

export async function runCommandLine(argv: readonly string[], world: World): Promise<number> {
  let exitCode: number = exitCodes.fine
  const program = buildProgram(world, (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help that nobody asked for stands for a command that is missing.
      return error.exitCode === 0 ? exitCodes.fine : exitCodes.wrongUsage
    }
    world.terminal.err(failureText(error))
    return exitCodeOf(error)
  }
}

function buildProgram(world: World, finish: (exitCode: number) => void): Command {
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
  program.commandsGroup('Run:')
  addServeCommand(program, world, finish)
  program.commandsGroup('Operate:')
  addRunsCommand(program, world)
  addInboxCommand(program, world)
  addDeliveriesCommand(program, world)
  addBudgetsCommand(program, world)
  addAuditCommand(program, world)
  addWhyCommand(program, world)
  program.commandsGroup('Upkeep:')
  addDoctorCommand(program, world, finish)
  addCatchupCommand(program, world)
  addTokenCommand(program, world)
  addMigrateCommand(program, world)
  addBackupCommand(program, world)
  addPurgeCommand(program, world)
  addSimulateCommand(program, world, finish)
  program.commandsGroup('More:').helpCommand('help [command]', 'print the help of a command')
  settle(program, world)
  return program
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
      throw asked ? error : usageError(error, command)
    })
  for (const child of command.commands) settle(child, world)
}
