/**
 * Does the work of a run that is held: from the first heartbeat to the stored result.
 *
 * If this process dies, the guard kills the command and removes its files, the lease runs out, and
 * the next claim does the work again. So nothing here has to be undone.
 */
import type { CommandEnvironment } from '../../executors/command/command-environment.ts'
import { killGraceMs } from '../../executors/command/commands.ts'
import { readResultFiles } from '../../executors/command/result-files.ts'
import { makeRunFiles, removeRunFiles, type RunFiles } from '../../executors/command/run-files.ts'
import { watchCommand, type Watch } from '../../executors/command/watch.ts'
import { SetupError } from '../../errors.ts'
import type { World } from '../world.ts'
import type { Ending } from './ending.ts'
import { execEnvironment, execSecrets } from './exec-environment.ts'
import type { HeldLease } from './get-lease.ts'
import type { Insisting } from './insist.ts'
import type { Interruption } from './interruption.ts'
import { keepLease, type KeptLease } from './keep-lease.ts'
import type { RunAccess } from './run-access.ts'
import { runCommand, type CommandRun } from './run-command.ts'
import type { PassedLines } from './start-command.ts'
import { storeEnd, storeNotStarted } from './store-end.ts'

export interface WorkOptions {
  readonly world: World
  readonly access: RunAccess
  readonly held: HeldLease
  readonly leaseMs: number
  readonly command: readonly string[]
  readonly passed: PassedLines
  readonly interruption: Interruption
  readonly insisting: Insisting
  readonly say: (words: string) => void
}

export async function doWork(options: WorkOptions): Promise<Ending> {
  const { world, access, held, leaseMs, say } = options
  const { clock, scheduler } = world
  let watch: Watch | null = null
  const onRenewed = (ms: number): void => watch?.renew(ms)
  const kept = keepLease({ access, held, leaseMs, clock, scheduler, say, onRenewed })
  let files: RunFiles | null = null
  try {
    const url = await access.open(held, execSecrets(world.env, held.runToken))
    const run = { runId: held.run.id, runToken: held.runToken, url, mcpUrl: `${url}/mcp` }
    files = await makeRunFiles({ ...run, input: JSON.stringify(held.run) })
    const environment = execEnvironment(world.env, run, files)
    const { folder } = files
    const watched = { runId: run.runId, env: environment.env, folder, leaseMs: kept.leftMs() }
    watch = watchCommand(watched, { clock, scheduler })
    await watch.ready
    return await guarded(options, { kept, watch, files, environment })
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    return await storeNotStarted(error.message, options)
  } finally {
    kept.stop()
    await watch?.close()
    if (files !== null) await removeRunFiles(files)
  }
}

interface Prepared {
  readonly kept: KeptLease
  readonly watch: Watch
  readonly files: RunFiles
  readonly environment: CommandEnvironment
}

async function guarded(
  options: WorkOptions,
  { kept, watch, files, environment }: Prepared,
): Promise<Ending> {
  const { world, command, passed, interruption, say } = options
  const { env, secrets } = environment
  const ran = await runCommand({
    command: { command, cwd: world.cwd, env, secrets, passed },
    ...{ inherited: world.inherited, scheduler: world.scheduler },
    ...{ watch, kept, interruption, say },
  })
  // What the command left behind is ended while its result is stored.
  const gone = watch.exited(killGraceMs)
  const results = await readResultFiles(files, secrets)
  const wasKilled = ran.stop === null && ran.end.signal === 'SIGKILL'
  const end = wasKilled && (await gone).leaseEnded ? killedWithLease(ran) : ran
  const ending = await storeEnd(end, results, options)
  await gone
  return ending
}

/** This process was stopped for longer than the lease, and did not notice its end. */
function killedWithLease({ end }: CommandRun): CommandRun {
  const text = 'its lease was not renewed in time, so the command was killed'
  return { end, stop: { by: 'loss', loss: { code: 'away', text } } }
}
