/** Checks of the database, and of the facts that the store keeps about itself. */
import type { DatabaseInspection } from '../domain/database-inspection.ts'
import { isActive } from '../domain/served.ts'
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import { describeDatabase } from '../settings/describe-settings.ts'
import type { Settings } from '../settings/settings.ts'
import type { StoreVitals } from '../store.ts'

/** All nodes use the database's clock. A larger difference still confuses people who read times. */
const clockMsMax = 5000

export function checkDatabase(
  inspection: DatabaseInspection,
  settings: Settings,
): readonly Finding[] {
  const place = describeDatabase(settings)
  if (inspection.schema.version === 0) {
    return [
      warning(
        'store',
        `${inspection.engine}: no store exists yet at ${place}`,
        'The first start creates it: holdfast serve. Or is the store somewhere else?',
      ),
    ]
  }
  const unread = inspection.readThrough === false ? ' (too large to be checked for damage)' : ''
  return [
    fine('store', `${inspection.engine} answers at ${place}${unread}`),
    ...checkSchema(inspection),
    ...checkDurability(inspection),
    ...checkClock(inspection),
  ]
}

export function checkSchema({ schema }: DatabaseInspection): readonly Finding[] {
  const { version, missing } = schema
  if (missing.length === 0) return [fine('store.schema', `Schema ${version} is current.`)]
  const to = missing.at(-1)?.version ?? version
  return [
    warning(
      'store.schema',
      `Schema ${version} is older than this program's ${to}. Runs and webhooks were not checked.`,
      'Migrate it: holdfast migrate. The next start of a server does it too.',
    ),
  ]
}

export function checkDurability({ doubts }: DatabaseInspection): readonly Finding[] {
  if (doubts.length === 0) return [fine('store.durability', 'Data survives a power cut.')]
  return [
    problem(
      'store.durability',
      `Data may be lost in a power cut: ${doubts.join(', ')}.`,
      'Set it back to its default. Without it Holdfast cannot keep its promises.',
    ),
  ]
}

export function checkClock({ clockAheadMs }: DatabaseInspection): readonly Finding[] {
  if (clockAheadMs === null) return []
  const seconds = (Math.abs(clockAheadMs) / 1000).toFixed(1)
  const side = clockAheadMs < 0 ? 'behind' : 'ahead of'
  const gap = `The clock of the database is ${seconds} s ${side} the clock of this machine.`
  if (Math.abs(clockAheadMs) <= clockMsMax) return [fine('store.clock', gap)]
  return [
    warning(
      'store.clock',
      gap,
      'Leases are safe: they use the clock of the database. Set both clocks by NTP.',
    ),
  ]
}

/** The store keeps the mode of its first start. A server in the other mode does not start on it. */
export function checkStoreMode({ mode }: StoreVitals, settings: Settings): readonly Finding[] {
  if (mode === null || mode === settings.mode) return []
  const remedy =
    mode === 'sandbox'
      ? 'Use another HOLDFAST_DATABASE_URL or HOLDFAST_DATA_DIR for the live store.'
      : 'Set the GitHub credentials and GITHUB_WEBHOOK_SECRET it was used with, or another store.'
  return [
    problem('store.mode', `The store is ${mode}, but the settings say ${settings.mode}.`, remedy),
  ]
}

export function checkServed({ aliveAt }: StoreVitals, nowMs: number): readonly Finding[] {
  const remedy = 'Start one: holdfast serve'
  if (aliveAt === null) {
    return [warning('server', 'No server has used this store yet.', remedy)]
  }
  const seconds = Math.max(0, Math.round((nowMs - aliveAt) / 1000))
  if (isActive(aliveAt, nowMs)) {
    return [fine('server', `A server was active ${seconds} s ago.`)]
  }
  const since = new Date(aliveAt).toISOString()
  return [warning('server', `No server has been active since ${since}.`, remedy)]
}
