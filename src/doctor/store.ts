/** The database as it was found, and what the store in it says of itself. */
import type { DatabaseLook } from '../domain/database-look.ts'
import { isActive } from '../domain/served.ts'
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import { describeDatabase } from '../settings/describe-settings.ts'
import type { Settings } from '../settings/settings.ts'
import type { StoreVitals } from '../store.ts'

/** All nodes go by the database's clock; a gap this wide still confuses people who read times. */
const clockMsMax = 5000

export function checkDatabase(look: DatabaseLook, settings: Settings): readonly Finding[] {
  const place = describeDatabase(settings)
  if (look.schema.version === 0) {
    return [
      warning(
        'store',
        `${look.engine}: there is no store at ${place} yet`,
        'The first start makes it: holdfast serve. Or is the store somewhere else?',
      ),
    ]
  }
  const unread = look.readThrough === false ? ' (too large to be read through for damage)' : ''
  return [
    fine('store', `${look.engine} answers at ${place}${unread}`),
    ...checkSchema(look),
    ...checkDurability(look),
    ...checkClock(look),
  ]
}

export function checkSchema({ schema }: DatabaseLook): readonly Finding[] {
  const { version, missing } = schema
  if (missing.length === 0) return [fine('store.schema', `schema ${version} is current`)]
  const to = missing.at(-1)?.version ?? version
  return [
    warning(
      'store.schema',
      `schema ${version} is behind this program's ${to}; runs and webhooks were not looked at`,
      'Bring it up to date: holdfast migrate. The next start of a server does it too.',
    ),
  ]
}

export function checkDurability({ doubts }: DatabaseLook): readonly Finding[] {
  if (doubts.length === 0)
    return [fine('store.durability', 'what is answered survives a power cut')]
  return [
    problem(
      'store.durability',
      `what was answered may be lost in a power cut: ${doubts.join(', ')}`,
      'Set it back to its default; Holdfast promises nothing without it.',
    ),
  ]
}

export function checkClock({ clockAheadMs }: DatabaseLook): readonly Finding[] {
  if (clockAheadMs === null) return []
  const seconds = (Math.abs(clockAheadMs) / 1000).toFixed(1)
  const side = clockAheadMs < 0 ? 'behind' : 'ahead of'
  const told = `the database's clock is ${seconds} s ${side} this machine's`
  if (Math.abs(clockAheadMs) <= clockMsMax) return [fine('store.clock', told)]
  return [
    warning(
      'store.clock',
      told,
      'Leases are safe, they go by the database. Set both machines by NTP so that times agree.',
    ),
  ]
}

/** The store remembers how it began; a server in the other mode refuses to start on it. */
export function checkStoreMode({ mode }: StoreVitals, settings: Settings): readonly Finding[] {
  if (mode === null || mode === settings.mode) return []
  const remedy =
    mode === 'sandbox'
      ? 'Use another HOLDFAST_DATABASE_URL or HOLDFAST_DATA_DIR for the live store.'
      : 'Give the GitHub credentials and GITHUB_WEBHOOK_SECRET it was used with, or another store.'
  return [
    problem('store.mode', `the store is ${mode}, but the settings say ${settings.mode}`, remedy),
  ]
}

export function checkServed({ aliveAt }: StoreVitals, nowMs: number): readonly Finding[] {
  const remedy = 'Start one: holdfast serve'
  if (aliveAt === null) {
    return [warning('server', 'no server has ever served this store', remedy)]
  }
  const seconds = Math.max(0, Math.round((nowMs - aliveAt) / 1000))
  if (isActive(aliveAt, nowMs)) {
    return [fine('server', `a server was here ${seconds} s ago`)]
  }
  const since = new Date(aliveAt).toISOString()
  return [warning('server', `no server has served this store since ${since}`, remedy)]
}
