/** Runs a worker until it gets a signal to stop, or cannot go on: see until-stopped.ts. */
import { loadSettings } from '../../settings/load-settings.ts'
import { describeChanges } from '../../settings/describe-settings.ts'
import { exitCodes } from '../failure.ts'
import { storeFailure } from '../database/store-failure.ts'
import type { World } from '../world.ts'
import { printNote } from '../output/fit-text.ts'
import { workerText } from './notices.ts'
import { makeLog } from './log.ts'
import { drain, firstStopSignal } from './until-stopped.ts'
import { watchUncaught } from './watch-uncaught.ts'

export interface WorkerRequest {
  readonly flags: Readonly<Record<string, string>>
  readonly config: string | undefined
}

export async function work(world: World, request: WorkerRequest): Promise<number> {
  const { clock, random, scheduler, version, env, terminal } = world
  const settings = await loadSettings({ ...request, env, cwd: world.cwd })
  const { shutdownMs } = settings
  const log = makeLog(settings.logLevel, terminal)
  const stop = firstStopSignal(world)
  const { promise: broken, resolve: breakOff } = Promise.withResolvers<'stuck' | 'broken'>()
  const stopWatching = watchUncaught(world, log, () => breakOff('broken'))
  try {
    const machine = { clock, random, scheduler }
    const options = { ...machine, log, version, env, onStuck: () => breakOff('stuck') }
    const app = await world.composeWorker(settings, options).catch((error: unknown) => {
      throw storeFailure(error, settings, env)
    })
    await app.start()
    printNote(terminal, workerText({ settings, version }))
    log.info({ version, settings: describeChanges(settings) }, 'Settings that are not the default')
    terminal.out(`holdfast working on ${app.types.join(', ')}\n`)
    const why = await Promise.race([stop.signal, broken])
    log.info({ signal: why }, 'Stopping')
    const draining = { world, log, shutdownMs, executes: true }
    const exitCode = await drain(draining, () => app.close(shutdownMs))
    return why === 'stuck' || why === 'broken' ? exitCodes.failed : exitCode
  } finally {
    stopWatching()
    stop.stopListening()
  }
}
