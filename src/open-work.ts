/**
 * Opens the executors that the settings name, for a process that executes runs itself. Used by the
 * server and by `holdfast worker`.
 */
import { createHash } from 'node:crypto'
import { closeSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { Log } from './log.ts'
import { createCommands } from './executors/command/commands.ts'
import { makePipe } from './executors/command/guard/output-pipe.ts'
import type { GitHubCalls, GitHubRequests, GitHubTokens } from './github.ts'
import { loadRunClient } from './github/run-client.ts'
import { createIdentityBlocks } from './runs/identity-blocks.ts'
import { permissionsOf } from './settings/run-types/permissions.ts'
import { openExecutors } from './executors/open-executors.ts'
import type { NodeWork } from './node.ts'
import { openLeaseRenewal, type Machine } from './open-store.ts'
import type { Environment } from './settings/environment.ts'
import { publishRights } from './settings/run-types/publish-rights.ts'
import type { Settings } from './settings/settings.ts'
import type { Store } from './store.ts'
import type { RunSecrets } from './texts/run-secrets.ts'

export interface OpenWorkOptions extends Machine {
  readonly store: Store
  readonly log: Log
  /** The simulated one in the sandbox. Null if this process does not reach it. */
  readonly github: (GitHubCalls & GitHubTokens & GitHubRequests) | null
  /** Where commands reach the HTTP API. Read when a command starts. */
  readonly url: () => string
  /** The environment that commands get their variables from. Default: none. */
  readonly env?: Environment
  readonly onStuck?: (type: string) => void
  /** Shared with whatever receives what commands send. */
  readonly runSecrets?: RunSecrets
}

export interface OpenedWork {
  readonly work: NodeWork
  /** Ends what the executors still have, after the work has stopped. */
  close(): Promise<void>
}

/** Null if this process executes nothing. */
export async function openWork(
  settings: Settings,
  options: OpenWorkOptions,
): Promise<OpenedWork | null> {
  if (!settings.work) return null
  const { store, random, log, onStuck = () => undefined } = options
  // Its process starts with the first command.
  const signs = openSigns(settings)
  const commands = createCommands({ ...options, leaseSigns: signs?.reading ?? null })
  const types = openExecutors(settings.runs, {
    ...options,
    publishRights: publishRights(settings),
    confirmDelayMs: settings.confirmDelayMs,
    codeVersion: codeVersionOf(settings.configFile),
    folder: settings.configFile === null ? process.cwd() : dirname(settings.configFile),
    env: options.env ?? {},
    github: await openGitHubClients(settings, options),
    ...{ store, commands },
  })
  if (types.size === 0) return null
  const renewal = await openLeaseRenewal(settings, { ...options, tellFd: signs?.writing ?? null })
  // The machine, and which of its starts this is.
  const worker = `${hostname()}/${random.bytes(4).toString('hex')}`
  log.info({ types: [...types.keys()], worker }, 'Executing runs of these types')
  return {
    work: { types, worker, renewal, onStuck },
    async close() {
      await renewal?.stop()
      await commands.close()
      signs?.close()
    },
  }
}

/**
 * Through it the thread that renews leases on PostgreSQL tells the guard of commands, so that a
 * blocked main thread costs no command its lease. Null where it is not needed, or cannot be made.
 */
function openSigns({ database, runs }: Settings) {
  const hasCommand = Object.values(runs).some(({ run }) => typeof run === 'object')
  const ends = database.kind === 'postgres' && hasCommand ? makePipe('refuses') : null
  if (ends === null) return null
  return {
    ...ends,
    close() {
      closeSync(ends.reading)
      closeSync(ends.writing)
    },
  }
}

/** Octokit is loaded only if a handler may use it. */
async function openGitHubClients(settings: Settings, options: OpenWorkOptions) {
  const { store, clock, github: connection } = options
  const hasHandler = Object.values(settings.runs).some(({ run }) => typeof run === 'function')
  if (connection === null || !hasHandler) return null
  return {
    ...{ store, clock, connection, permissionsOf: permissionsOf(settings) },
    makeClient: await loadRunClient(),
    blocks: createIdentityBlocks({ store, clock }),
  }
}

/** A later version of the config file may ask for other steps. */
function codeVersionOf(configFile: string | null): string | null {
  if (configFile === null) return null
  return createHash('sha256').update(readFileSync(configFile)).digest('hex').slice(0, 12)
}
