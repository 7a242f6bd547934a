/**
 * Opens the database that the settings name. This is the only file that names concrete stores. It
 * is separate from compose.ts, so that a command or program that needs only the store does not load
 * the server.
 */
import { githubDeclarations } from './channels/github-channels.ts'
import { systemClock, type Clock } from './clock.ts'
import type { ChannelDeclaration } from './domain/outbox/channel-declaration.ts'
import { defaultPublishing, type PublishingRules } from './domain/outbox/schedule.ts'
import type { Log } from './log.ts'
import { measuredStore } from './metrics/measured-store.ts'
import { noMetrics, type Metrics } from './metrics.ts'
import { systemRandom, type Random } from './random.ts'
import { systemScheduler, type Scheduler } from './scheduler.ts'
import { retryRules } from './settings/run-types/publishing-rules.ts'
import type { Settings } from './settings/settings.ts'
import type { Store } from './store.ts'
import type { LeaseRenewal } from './store/lease-renewal.ts'
import type { MigrateWhen } from './stores/migrations.ts'
import type { RenewalOptions } from './stores/renewal/renewal-thread.ts'
import type { MoveAnswer, MoveOptions, UndoAnswer } from './stores/move/move-terms.ts'
import { openSqlite, type StoreMachine } from './stores/open-sqlite.ts'

export { openSharedMemory } from './stores/shared-memory.ts'
export type { MemoryCopy, SharedMemory } from './stores/shared-memory.ts'
export { backupDatabase, inspectDatabase } from './stores/upkeep.ts'
export type { MoveAnswer, MoveOptions, MoveProgress, UndoAnswer } from './stores/move/move-terms.ts'

/** Time, randomness and timers. Tests and the simulation pass their own. */
export interface Machine {
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
}

export const systemMachine: Machine = {
  clock: systemClock,
  random: systemRandom,
  scheduler: systemScheduler,
}

export type StoreSettings = Pick<Settings, 'database'> &
  Partial<Pick<Settings, 'coalesceMs' | 'confirmDelayMs' | 'channels'>>

export interface OpenStoreOptions extends Partial<Machine> {
  readonly exclusive?: boolean
  /** Default: a server always migrates, others only while no server is active. */
  readonly migrate?: MigrateWhen
  readonly metrics?: Metrics
  readonly publishing?: Partial<PublishingRules>
  readonly log?: Log
  /** Default: the channels to GitHub. */
  readonly channels?: readonly ChannelDeclaration[]
}

/** `exclusive` is for servers and workers: only one of them at a time may use a SQLite file. */
export async function openStore(
  settings: StoreSettings,
  options: OpenStoreOptions = {},
): Promise<Store> {
  const { exclusive = false, metrics = noMetrics, log } = options
  const { migrate = exclusive ? 'always' : 'no_server_active' } = options
  const machine = {
    ...systemMachine,
    ...givenMachine(options),
    onBatch: (kind: 'group' | 'batch', count: number) => metrics.committedTogether(kind, count),
    onRepeat: (what: 'again' | 'given_up', cause: unknown) => {
      metrics.storeRepeated(what)
      if (what === 'given_up') {
        log?.warn({ err: cause }, 'Gave up a change: others held the same rows for too long')
      }
    },
    publishing: { ...defaultPublishing, ...definedRules(settings), ...options.publishing },
    channels: options.channels ?? githubDeclarations,
  }
  const { database } = settings
  const store =
    database.kind === 'postgres'
      ? await openPostgres(database.url, machine, migrate)
      : openSqlite({ path: database.path, exclusive, migrate }, machine)
  return metrics === noMetrics ? store : measuredStore(store, metrics, machine.clock)
}

/** Null for SQLite, which needs none. */
export async function openLeaseRenewal(
  { database }: Pick<Settings, 'database'>,
  options: Omit<RenewalOptions, 'url' | 'sessionOptions'>,
): Promise<LeaseRenewal | null> {
  if (database.kind !== 'postgres') return null
  const { sessionOptions } = await import('./stores/open-postgres.ts')
  const { startLeaseRenewal } = await import('./stores/renewal/renewal-thread.ts')
  return await startLeaseRenewal({ ...options, url: database.url, sessionOptions })
}

/** The PostgreSQL client is loaded only if it is needed. */
async function openPostgres(
  url: string,
  machine: StoreMachine,
  migrate: MigrateWhen,
): Promise<Store> {
  const postgres = await import('./stores/open-postgres.ts')
  return await postgres.openPostgres(url, machine, migrate)
}

/** Moves a SQLite store to PostgreSQL. */
export async function moveStore(options: MoveOptions): Promise<MoveAnswer> {
  const move = await import('./stores/move/move-store.ts')
  return await move.moveStore(options)
}

/** Takes a move back, as long as the new store was not used. */
export async function undoMove(options: MoveOptions): Promise<UndoAnswer> {
  const undo = await import('./stores/move/undo-move.ts')
  return await undo.undoMove(options)
}

/** The parts that the caller gives. `systemMachine` has the others. */
export function givenMachine(options: Partial<Machine>): Partial<Machine> {
  const { clock, random, scheduler } = options
  return {
    ...(clock !== undefined && { clock }),
    ...(random !== undefined && { random }),
    ...(scheduler !== undefined && { scheduler }),
  }
}

function definedRules(settings: StoreSettings): Partial<PublishingRules> {
  const { coalesceMs, confirmDelayMs, channels } = settings
  return {
    ...(channels !== undefined && { retryOf: retryRules(channels) }),
    ...(coalesceMs !== undefined && { coalesceMs }),
    ...(confirmDelayMs !== undefined && { confirmDelayMs }),
  }
}
