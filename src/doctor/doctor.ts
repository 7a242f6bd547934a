/**
 * The doctor: which checks there are, in the order people read them. It knows nothing of who asks;
 * the command line and a server hand it the same things.
 */
import { readSignatures } from '../audit/refused-signatures.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { DatabaseInspection } from '../domain/database-inspection.ts'
import type { GitHub } from '../github.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import { budgetLimits } from '../settings/budget-limits.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store, StorePart } from '../store.ts'
import { checkCatchUp, checkInbox, checkLostLeases, checkOverdue, checkPending } from './backlog.ts'
import {
  checkAdminToken,
  checkConfigFile,
  checkMode,
  checkPublicUrl,
  checkQueue,
  checkWebhookSecrets,
} from './configuration.ts'
import { checkAuthors, checkBudgets, checkDeliveries, checkLimits } from './publishing.ts'
import { checkDatabaseFile, checkDataFolder, checkDisk, checkSecretFiles } from './data-folder.ts'
import { checkSignatures } from './refused-webhooks.ts'
import { examine, type Check, type Report } from './report.ts'
import { checkDatabase, checkServed, checkStoreMode } from './store.ts'

const lostLeasesRead = 100

export type DoctorStore = StorePart<{ upkeep: 'vitals'; audit: 'list'; inbox: 'backlog' }> &
  Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'backlog' | 'budgets' | 'authors' | 'rules'>
    readonly catchUp: Pick<CatchUpStore, 'backlog'>
  }

export interface Patient {
  readonly settings: Settings
  /** Looks at the database from the outside; rejects when it cannot be reached. */
  readonly look: () => Promise<DatabaseInspection>
  /** Null where there is no store to open, or one that would have to be migrated first. */
  readonly store: () => Promise<DoctorStore | null>
  /** Null in the sandbox. */
  readonly github: () => Promise<GitHub | null> | GitHub | null
}

export async function examineAll(patient: Patient): Promise<Report> {
  return await examine([
    ...configurationChecks(patient),
    { name: 'store', look: async () => checkDatabase(await patient.look(), patient.settings) },
    { name: 'store.file', look: () => checkDatabaseFile(patient.settings) },
    { name: 'store.disk', look: () => checkDisk(patient.settings) },
    ...storeChecks(patient),
    { name: 'github', look: async () => (await (await patient.github())?.checkSetup()) ?? [] },
  ])
}

function configurationChecks({ settings }: Patient): readonly Check[] {
  return [
    { name: 'configuration', look: () => checkConfigFile(settings) },
    { name: 'mode', look: () => checkMode(settings) },
    { name: 'public_url', look: () => checkPublicUrl(settings) },
    { name: 'admin_token', look: () => checkAdminToken(settings) },
    { name: 'webhook_secret', look: () => checkWebhookSecrets(settings) },
    { name: 'data_folder', look: () => checkDataFolder(settings) },
    { name: 'secret_files', look: () => checkSecretFiles(settings) },
    { name: 'queue', look: checkQueue },
    { name: 'publishing.limits', look: () => checkLimits(budgetLimits(settings)) },
  ]
}

function storeChecks({ settings, store }: Patient): readonly Check[] {
  return [
    {
      name: 'runs',
      look: async () => {
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
      name: 'runs.leases',
      look: async () => {
        const open = await store()
        if (open === null) return []
        const newest = { limit: lostLeasesRead, cursor: null }
        const lost = await open.audit.list({ type: 'run.heartbeat_lost' }, newest)
        return checkLostLeases(lost, open.now())
      },
    },
    {
      name: 'inbox',
      look: async () => {
        const open = await store()
        return open === null ? [] : checkInbox(await open.inbox.backlog(), open.now())
      },
    },
    {
      name: 'inbox.signatures',
      look: async () => {
        const open = await store()
        return open === null ? [] : checkSignatures(await readSignatures(open))
      },
    },
    {
      name: 'catch-up',
      look: async () => {
        const open = await store()
        return open === null ? [] : checkCatchUp(await open.catchUp.backlog(), open.now())
      },
    },
    {
      name: 'deliveries',
      look: async () => {
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
