/** Runs a server until it gets a signal to stop, or cannot go on: see until-stopped.ts. */
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { App } from '../../compose.ts'
import type { OwnAccount } from '../../github.ts'
import { serverSecrets } from '../../settings/data-folder/server-secrets.ts'
import { describeChanges, describeSettings } from '../../settings/describe-settings.ts'
import { loadSettings } from '../../settings/load-settings.ts'
import { executesRuns, type Settings } from '../../settings/settings.ts'
import { exitCodes } from '../failure.ts'
import { printNote } from '../output/fit-text.ts'
import { listenFailure } from './listen-failure.ts'
import { makeLog, type Log } from './log.ts'
import { drain, firstStopSignal } from './until-stopped.ts'
import { watchUncaught } from './watch-uncaught.ts'
import { madeSecretsText, permanentSandboxWarning, startedText } from './notices.ts'
import { newFilesWarning, restoredLine } from '../database/restore-words.ts'
import { storeFailure } from '../database/store-failure.ts'
import type { World } from '../world.ts'

export interface ServeRequest {
  readonly flags: Readonly<Record<string, string>>
  readonly config: string | undefined
  readonly work: boolean
}

const accountWaitMs = 2000

export async function serve(world: World, request: ServeRequest): Promise<number> {
  const settings = await loadSettings({ ...request, env: world.env, cwd: world.cwd })
  const { shutdownMs } = settings
  const log = makeLog(settings.logLevel, world.terminal)
  const stop = firstStopSignal(world)
  const { promise: broken, resolve: breakOff } = Promise.withResolvers<'stuck' | 'broken'>()
  const stopWatching = watchUncaught(world, log, () => breakOff('broken'))
  try {
    const starting = start(world, settings, log, () => breakOff('stuck'))
    const first = await Promise.race([starting, stop.signal])
    if (typeof first !== 'string') {
      world.terminal.out(`holdfast listening on ${first.url}\n`)
      await Promise.race([stop.signal, broken])
    }
    const why = await Promise.race([stop.signal, broken])
    log.info({ signal: why }, 'Stopping')
    const exitCode = await drain(
      { world, log, shutdownMs, executes: executesRuns(settings) },
      async () => (await starting).app.close(shutdownMs),
    )
    return why === 'stuck' || why === 'broken' ? exitCodes.failed : exitCode
  } finally {
    stopWatching()
    stop.stopListening()
  }
}

interface Started {
  readonly app: App
  readonly url: string
}

/** The notice is printed last, so that a start that fails prints only its reason. */
async function start(
  world: World,
  settings: Settings,
  log: Log,
  onStuck: () => void,
): Promise<Started> {
  const secrets = await serverSecrets(settings, world.random)
  const { adminToken, webhookSecrets } = secrets
  const { clock, random, scheduler, version, terminal } = world
  const machine = { clock, random, scheduler }
  if (await isNewDatabase(world, settings)) {
    printNote(terminal, permanentSandboxWarning(settings) ?? '')
  }
  const composed = world.compose(settings, {
    ...{ ...machine, adminToken, webhookSecrets, log, version, onStuck },
    env: world.env,
  })
  const app = await composed.catch((error: unknown) => {
    throw storeFailure(error, settings, world.env)
  })
  try {
    const { url } = await app.listen().catch((error: unknown) => {
      throw listenFailure(error, settings)
    })
    printNote(terminal, madeSecretsText(secrets.unshown, terminal.errColumns))
    const account = await accountOf(world, app)
    const restored = restoredLine(await app.restoreNote(), clock.wallMs())
    const newFiles = restored === null ? [] : secrets.unshown.map(({ path }) => basename(path))
    const fileWarning = newFilesWarning(newFiles, settings.dataDir)
    const warnings = [...secrets.warnings, ...(fileWarning === null ? [] : [fileWarning])]
    const shown = { ...secrets, warnings }
    const { cwd } = world
    const notice = { settings, secrets: shown, version, url, cwd, account, restored }
    printNote(terminal, startedText(notice))
    await secrets.markShown()
    // On a terminal the notice has just shown the important settings.
    const level = terminal.logStyle === 'json' ? 'info' : 'debug'
    log[level](
      { version, settings: describeChanges(settings) },
      'Settings that are not the default',
    )
    log.debug({ settings: describeSettings(settings) }, 'All settings')
    return { app, url }
  } catch (error) {
    await app.close()
    throw error
  }
}

/** Returns false if it cannot be found out. Opening the database then says why. */
async function isNewDatabase(
  { inspectDatabase, clock }: World,
  { database }: Settings,
): Promise<boolean> {
  if (database.kind === 'sqlite') return !existsSync(database.path)
  try {
    return (await inspectDatabase(database, { clock, readThrough: false })).schema.version === 0
  } catch {
    return false
  }
}

/** Our account on GitHub. A start waits at most two seconds for GitHub's answer. */
async function accountOf({ scheduler }: World, app: App): Promise<OwnAccount | 'refused' | null> {
  const { promise: tooLate, resolve } = Promise.withResolvers<null>()
  const cancel = scheduler.after(accountWaitMs, () => resolve(null))
  try {
    return await Promise.race([app.ownAccount(), tooLate])
  } finally {
    cancel()
  }
}
