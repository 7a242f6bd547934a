/**
 * Numbered migrations: immutable files, applied once, in order, in one transaction under a lock, so
 * that two processes may start at once. A store that a newer program has migrated is refused.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { SchemaInspection } from '../domain/database-inspection.ts'
import { isActive } from '../domain/served.ts'
import { SetupError } from '../errors.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly text: string
}

/**
 * When a database may be migrated. A server of an older version fails on a newer schema, so a
 * command or a program beside it must not migrate while one is active.
 */
export type MigrateWhen = 'always' | 'no_server_active'

const folder = new URL('../../sql/', import.meta.url)

export function loadMigrations(dialect: 'sqlite' | 'postgres'): readonly Migration[] {
  const here = new URL(`${dialect}/`, folder)
  return readdirSync(here)
    .filter((file) => /^\d{4}-[a-z0-9-]+\.sql$/.test(file))
    .toSorted()
    .map((file) => ({
      version: Number(file.slice(0, 4)),
      name: file.slice(5, -4),
      text: readFileSync(new URL(file, here), 'utf8'),
    }))
}

/** What is still to be applied; throws when the store is ahead of this program. */
export function missingMigrations(
  known: readonly Migration[],
  applied: readonly number[],
): readonly Migration[] {
  const newest = Math.max(0, ...known.map(({ version }) => version))
  const ahead = Math.max(0, ...applied)
  if (ahead > newest) {
    throw new SetupError(
      'store_newer',
      `the store has schema ${ahead}, but this program only knows ${newest}`,
      { hint: 'Start the newer holdfast that migrated it, or restore a backup from before.' },
    )
  }
  return known.filter(({ version }) => !applied.includes(version))
}

/** `aliveAt`: the last sign of life that a server stored. */
export function refuseWhileServed(aliveAt: number | null, now: number): void {
  if (!isActive(aliveAt, now)) return
  const seconds = Math.max(0, Math.round((now - aliveAt) / 1000))
  throw new SetupError(
    'schema_in_use',
    `the database has an older schema, and a server was active on it ${seconds} s ago; ` +
      'migrating it now would break that server',
    { hint: 'Stop that server. Then start the new version, or run: holdfast migrate' },
  )
}

export function inspectSchema(
  known: readonly Migration[],
  applied: readonly number[],
): SchemaInspection {
  const missing = missingMigrations(known, applied)
  return {
    version: Math.max(0, ...applied),
    missing: missing.map(({ version, name }) => ({ version, name })),
  }
}
