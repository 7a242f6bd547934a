/** The SQL implementation of the store, over any driver: assembles its nouns. */
import type { PublishingRules } from '../../domain/outbox/schedule.ts'
import { knownChannels, type ChannelDeclaration } from '../../domain/outbox/channel-declaration.ts'
import { defaultPublishing } from '../../domain/outbox/schedule.ts'
import { GrowingIds } from '../../ids.ts'
import type { Random } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { Store } from '../../store.ts'
import type { Driver, OnBatch } from '../driver.ts'
import type { VerbContext } from '../verbs/context.ts'
import { correctTimes } from '../verbs/upkeep/correct-times.ts'
import { Presence } from './presence.ts'
import { SqlAudit } from './sql-audit.ts'
import { SqlBatches } from './sql-batches.ts'
import { SqlCatchUp } from './sql-catch-up.ts'
import { SqlInbox } from './sql-inbox.ts'
import { SqlOutbox } from './sql-outbox.ts'
import { SqlRepositories } from './sql-repositories.ts'
import { SqlRuns } from './sql-runs.ts'
import { SqlSteps } from './sql-steps.ts'
import { SqlTokens } from './sql-tokens.ts'
import { SqlUpkeep } from './sql-upkeep.ts'
import { Turns } from './turns.ts'
import { VerbRunner } from './verb-runner.ts'

/** Of a pool's ten connections: the others are for heartbeats, webhooks, batches and reads. */
const mostInTurn = 5
const turnPatienceMs = 30_000

export interface SqlStoreOptions {
  readonly random: Random
  readonly scheduler: Scheduler
  readonly onBatch?: OnBatch | undefined
  readonly publishing?: PublishingRules | undefined
  /** What runs are announced on, and what may be published. */
  readonly channels: readonly ChannelDeclaration[]
}

export class SqlStore implements Store {
  readonly runs: SqlRuns
  readonly steps: SqlSteps
  readonly inbox: SqlInbox
  readonly outbox: SqlOutbox
  readonly audit: SqlAudit
  readonly tokens: SqlTokens
  readonly repositories: SqlRepositories
  readonly catchUp: SqlCatchUp
  readonly upkeep: SqlUpkeep
  readonly #driver: Driver
  readonly #batches: SqlBatches

  constructor(driver: Driver, options: SqlStoreOptions) {
    const { scheduler, onBatch } = options
    const presence = new Presence(driver, (byMs) => correctTimes(driver, context, byMs))
    const context = contextOf(driver, presence, options)
    const turns = { scheduler, mostAtOnce: mostInTurn, patienceMs: turnPatienceMs }
    const runner = new VerbRunner(
      driver,
      context,
      driver.dialect.needsRoundTrips ? new Turns(turns) : null,
    )
    const beforeDue = (): Promise<void> => presence.correct()
    this.#driver = driver
    this.#batches = new SqlBatches({ runner, scheduler, onBatch })
    this.runs = new SqlRuns(runner, this.#batches, beforeDue)
    this.steps = new SqlSteps(runner, this.#batches.steps)
    this.inbox = new SqlInbox(runner, this.#batches, beforeDue)
    this.outbox = new SqlOutbox(runner, beforeDue)
    this.audit = new SqlAudit(runner)
    this.tokens = new SqlTokens(runner)
    this.repositories = new SqlRepositories(runner)
    this.catchUp = new SqlCatchUp(runner)
    this.upkeep = new SqlUpkeep(runner, presence)
  }

  now(): number {
    return this.#driver.now()
  }

  ping(): Promise<void> {
    return this.#driver.ping()
  }

  async close(): Promise<void> {
    await this.#batches.drain()
    await this.#driver.close()
  }
}

function contextOf(
  driver: Driver,
  presence: Presence,
  { random, publishing, channels }: SqlStoreOptions,
): VerbContext {
  const ids = new GrowingIds(random)
  return {
    dialect: driver.dialect,
    now: () => driver.now(),
    moment: () => presence.moment(),
    restoredAt: () => presence.restoredAt,
    newId: (prefix) => ids.next(prefix, driver.now()),
    jitter: () => random.below(1000) / 1000,
    publishing: publishing ?? defaultPublishing,
    channels: knownChannels(channels),
    newMarkerKey: () => ({
      id: random.bytes(4).toString('hex'),
      secret: random.bytes(32).toString('base64url'),
    }),
    newStoreId: () => random.bytes(16).toString('hex'),
  }
}
