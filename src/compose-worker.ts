/**
 * Assembles `holdfast worker`: a process that executes and publishes, beside any number of servers
 * and workers on the same PostgreSQL. It has no webhooks and no API of its own; its commands reach
 * a door on loopback that only takes their run tokens.
 */
import type { FastifyBaseLogger } from 'fastify'
import { connect, nodeSettings, type ConnectOptions } from './connect.ts'
import { SetupError } from './errors.ts'
import { openNode } from './node.ts'
import { openWork } from './open-work.ts'
import { openRunDoor, type RunDoor } from './run-door.ts'
import type { Environment } from './settings/environment.ts'
import { executesRuns, type Settings } from './settings/settings.ts'
import { RunSecrets } from './texts/run-secrets.ts'

export interface WorkerApp {
  /** The run types that it executes. */
  readonly types: readonly string[]
  start(): Promise<void>
  /** As `close` of a server. */
  close(graceMs?: number): Promise<number>
}

export interface WorkerOptions extends ConnectOptions {
  readonly log: FastifyBaseLogger
  readonly env: Environment
  /** The functions of one run type never settle: the process should end. */
  readonly onStuck: (type: string) => void
}

export async function composeWorker(
  settings: Settings,
  options: WorkerOptions,
): Promise<WorkerApp> {
  checkUsable(settings)
  const { log } = options
  const connected = await connect(settings, options)
  const { machine, store, engine, metrics, github } = connected
  let door: RunDoor | null = null
  const runSecrets = new RunSecrets()
  const opened = await openWork(settings, {
    ...{ ...options, ...machine, store, github, runSecrets },
    url: () => door?.url ?? '',
  })
  if (opened === null) throw nothingToExecute()
  const { work } = opened
  const node = openNode({
    ...machine,
    ...nodeSettings(settings),
    ...{ store, engine, log, metrics, ask: github, webhookSecrets: [] },
    // The simulated GitHub of a sandbox exists only inside its server.
    publishTo: github,
    role: 'worker',
    work,
  })
  return {
    types: [...work.types.keys()],
    async start() {
      await node.prepare()
      const parts = { ...options, ...machine, store, runs: node.runs, github, runSecrets }
      door = await openRunDoor(settings, parts)
      await node.start()
    },
    async close(graceMs = 0) {
      const cutOff = await node.stopWork(graceMs)
      await opened.close()
      await door?.close()
      await node.stop()
      await store.close()
      return cutOff
    },
  }
}

function checkUsable(settings: Settings): void {
  if (settings.database.kind === 'sqlite') {
    throw new SetupError('worker_needs_postgres', 'Only one process can work on a SQLite file', {
      hint:
        'holdfast serve executes runs itself. For workers on several machines use PostgreSQL: ' +
        'set HOLDFAST_DATABASE_URL, or move this database with holdfast move --to URL.',
    })
  }
  if (!executesRuns(settings)) throw nothingToExecute()
}

function nothingToExecute(): SetupError {
  return new SetupError('nothing_to_execute', 'No run type has a function or a command', {
    hint:
      'Give a type in the config file `run`: a function or { command: [...] }. Runs of other ' +
      'types are leased over HTTP.',
  })
}
