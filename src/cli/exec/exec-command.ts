/** `holdfast exec` on the command line: its flags and its help. */
import { Option as Flag, type Command } from 'commander'
import { addConnectionFlags, type Parsed } from '../connection/connection.ts'
import { UsageError } from '../failure.ts'
import type { World } from '../world.ts'

export function addExecCommand(
  program: Command,
  world: World,
  finish: (exitCode: number) => void,
): void {
  const command = program
    .command('exec')
    .summary('do a piece of work once, whatever starts it twice')
    .description(
      'Runs a command as the work of one run: claims it, keeps its lease while the command ' +
        'works, and stores how it ended. If somebody else does the same work, it waits for the ' +
        'end. If the work was done before, it does nothing. A newer head stops it. Works ' +
        'through a server or directly on the database.',
    )
    .usage('[options] -- COMMAND [ARGUMENT...]')
    .argument('<command...>', 'the command, after "--"')
    .option('--type <type>', 'type of run (default for a pull request: review)')
    .option('--rerun', 'do it again, also if it succeeded before')
    .option('--input <json>', 'JSON for the command, in the file HOLDFAST_INPUT_FILE')
    .option('--no-wait', 'if somebody else does the same work, exit 0 at once; in a queue, 1')
    .option('--json', 'end with {"outcome","reason","run_id","run_key","exit_code"}')
    .addOption(new Flag('--lease-ms <ms>', 'length of the lease (HOLDFAST_LEASE_MS)'))
  addWorkFlags(command)
  addConnectionFlags(command)
    .addHelpText('after', help)
    .action(async (words: readonly string[], parsed: Parsed) => {
      refuseWithoutDashes(command)
      const { exec } = await import('./exec.ts')
      finish(await exec(world, parsed, words))
    })
}

function addWorkFlags(command: Command): void {
  const pull = 'For a pull request:'
  const job = 'For any other job:'
  const add = (group: string, flags: string, description: string): void =>
    void command.addOption(new Flag(flags, description).helpGroup(group))
  add(pull, '--repo <owner/name>', 'its repository; a job may have one, too')
  add(pull, '--pr <number>', 'its number')
  add(pull, '--base <sha>', 'commit that it is based on')
  add(pull, '--head <sha>', 'commit at its head')
  add(
    pull,
    '--from-github-event <file>',
    'all of these, or a pushed commit; in GitHub Actions the file is $GITHUB_EVENT_PATH',
  )
  add(job, '--key <key>', 'what makes two jobs the same work')
  add(job, '--subject <name>', 'what it is about; one job of a subject runs at a time')
  add(job, '--sha <sha>', 'commit that it is about')
}

/** Without them, an option of the command could be taken for one of ours. */
function refuseWithoutDashes(command: Command): void {
  const { rawArgs } = command.parent as Command & { readonly rawArgs: readonly string[] }
  if (rawArgs.includes('--')) return
  throw new UsageError('Put "--" before the command', 'holdfast exec [options] -- COMMAND …')
}

const help = `
The command gets the whole environment except Holdfast's own secrets, and:
  HOLDFAST_RUN_ID, HOLDFAST_RUN_TOKEN, HOLDFAST_URL   to report and to publish
  HOLDFAST_INPUT_FILE                                 the run, as JSON
  HOLDFAST_SUMMARY_FILE, HOLDFAST_RESULT_FILE         for its summary and its result

Exit codes:
  the command's own: 0 succeeded, 78 skipped, anything else failed
  0    also: the work was done before, or somebody else has just done it
  1    the work was not done: superseded, cancelled, stale, or it failed elsewhere; or the
       command ended with 0 or 78, but its run failed
  2    wrong usage or wrong settings
  3    could not reach a server or the database, or could not store the result
  130  interrupted (SIGINT); 143 (SIGTERM); 129 (SIGHUP)

Examples:
  holdfast exec --from-github-event "$GITHUB_EVENT_PATH" -- npm run review
  holdfast exec --key "nightly:$(date +%F)" --type backup -- ./backup.sh
  holdfast exec --repo acme/widgets --pr 5 --base SHA --head SHA -- ./review.sh`
