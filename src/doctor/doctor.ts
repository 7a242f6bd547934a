/**
 * The doctor: all its checks, in the order in which people read them. The command line and a server
 * call it in the same way.
 */
import { readSignatures } from '../audit/refused-signatures.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { DatabaseInspection } from '../domain/database-inspection.ts'
import type { EngineHealth } from '../engine.ts'
import type { GitHub } from '../github.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import { budgetLimits } from '../settings/run-types/publishing-rules.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store, StorePart } from '../store.ts'
import {
  checkCatchUp,
  checkInbox,
  checkLostLeases,
  checkOverdue,
  checkPending,
  checkUndecided,
} from './backlog.ts'
import {
  checkAdminToken,
  checkConfigFile,
  checkMode,
  checkPublicUrl,
  checkWebhookSecrets,
} from './configuration.ts'
import { checkAuthors, checkBudgets, checkDeliveries, checkLimits } from './publishing.ts'
import { checkDatabaseFile, checkDataFolder, checkDisk, checkSecretFiles } from './data-folder.ts'
import { checkQueue } from './queue.ts'
import { checkSignatures } from './refused-webhooks.ts'
import { runChecks, type Check, type Report } from './report.ts'
import { checkDatabase, checkServed, checkStoreMode } from './store.ts'

const lostLeasesRead = 100

export type DoctorStore = StorePart<{
  upkeep: 'vitals'
  runs: 'countActive'
  audit: 'list'
  inbox: 'backlog'
}> &
  Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'backlog' | 'budgets' | 'authors' | 'rules'>
    readonly catchUp: Pick<CatchUpStore, 'backlog'>
  }

export interface DoctorOptions {
  readonly settings: Settings
  /** Inspects the database from outside. Rejects if it cannot be reached. */
  readonly inspect: () => Promise<DatabaseInspection>
  /** Null if there is no store, or it would have to be migrated first. */
  readonly store: () => Promise<DoctorStore | null>
  /** Null in the sandbox. */
  readonly github: () => Promise<GitHub | null> | GitHub | null
  readonly queue: () => Promise<EngineHealth>
}

export async function runDoctor(options: DoctorOptions): Promise<Report> {
  return await runChecks([
    ...configurationChecks(options),
    { name: 'store', run: async () => checkDatabase(await options.inspect(), options.settings) },
    { name: 'store.file', run: () => checkDatabaseFile(options.settings) },
    { name: 'store.disk', run: () => checkDisk(options.settings) },
    ...checksOfRuns(options),
    ...storeChecks(options),
    { name: 'github', run: async () => (await (await options.github())?.checkSetup()) ?? [] },
  ])
}

function configurationChecks({ settings, queue }: DoctorOptions): readonly Check[] {
  return [
    { name: 'configuration', run: () => checkConfigFile(settings) },
    { name: 'mode', run: () => checkMode(settings) },
    { name: 'public_url', run: () => checkPublicUrl(settings) },
    { name: 'admin_token', run: () => checkAdminToken(settings) },
    { name: 'webhook_secret', run: () => checkWebhookSecrets(settings) },
    { name: 'data_folder', run: () => checkDataFolder(settings) },
    { name: 'secret_files', run: () => checkSecretFiles(settings) },
    { name: 'queue', run: async () => checkQueue(await queue()) },
    { name: 'publishing.limits', run: () => checkLimits(budgetLimits(settings)) },
  ]
}

function checksOfRuns({ settings, store }: DoctorOptions): readonly Check[] {
  return [
    {
      name: 'runs',
      run: async () => {
        const open = await store()
        if (open === null) return []
        const [now, vitals] = [open.now(), await open.upkeep.vitals()]
        return [
          ...checkStoreMode(vitals, settings),
          ...checkServed(vitals, now),
          ...checkPending(vitals, now),
          ...checkOverdue(vitals),
        ]
      },
    },
    {
      name: 'runs.waiting',
      run: async () => {
        const open = await store()
        return open === null ? [] : checkUndecided((await open.runs.countActive()).waiting)
      },
    },
    {
      name: 'runs.leases',
      run: async () => {
        const open = await store()
        if (open === null) return []
        const newest = { limit: lostLeasesRead, cursor: null }
        const lost = await open.audit.list({ type: 'run.heartbeat_lost' }, newest)
        return checkLostLeases(lost, open.now())
      },
    },
  ]
}

function storeChecks({ settings, store }: DoctorOptions): readonly Check[] {
  return [
    {
      name: 'inbox',
      run: async () => {
        const open = await store()
        return open === null ? [] : checkInbox(await open.inbox.backlog(), open.now())
      },
    },
    {
      name: 'inbox.signatures',
      run: async () => {
        const open = await store()
        return open === null ? [] : checkSignatures(await readSignatures(open))
      },
    },
    {
      name: 'catch-up',
      run: async () => {
        const open = await store()
        return open === null
          ? []
          : checkCatchUp(await open.catchUp.backlog(), open.now(), settings.mode)
      },
    },
    {
      name: 'deliveries',
      run: async () => {
        const open = await store()
        if (open === null) return []
        const { outbox } = open
        const now = open.now()
        const [backlog, authors, budgets] = await Promise.all([
          outbox.backlog(),
          outbox.authors(),
          outbox.budgets(),
        ])
        return [
          ...checkDeliveries(backlog, now),
          ...checkBudgets(budgets, budgetLimits(settings), outbox.rules, now),
          ...checkAuthors(authors, backlog),
        ]
      },
    },
  ]
}
