/**
 * The keys that sign markers. All processes on this store share them.
 *
 * What must hold: no key is ever removed, because the texts that it signed are still on GitHub. The
 * newest key signs, even after the clock was set back. Every change and every export is audited.
 */
import { lookAgainWithNewKeys } from '../../../domain/outbox/operator-actions.ts'
import { ConflictError } from '../../../errors.ts'
import type { ImportedKeys, MarkerKey } from '../../../store/outbox-store.ts'
import type { Verb } from '../../sql.ts'
import { sql, tuples } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { selectDeliveries } from '../../tables/delivery-table.ts'
import type { VerbContext } from '../context.ts'
import { lockState } from '../../tables/state-table.ts'
import { storeDeliveries } from './store-deliveries.ts'

/** The newest comes first. It signs; all of them verify. */
export function* markerKeys(): Verb<MarkerKey[]> {
  const rows = yield sql`SELECT id, secret, created_at FROM marker_key
    ORDER BY created_at DESC, id DESC`
  return rows.map((row) => ({
    id: row['id'] as string,
    secret: row['secret'] as string,
    createdAt: Number(row['created_at']),
  }))
}

/** If several processes start at once, all of them sign with the first key that was stored. */
export function* ensureMarkerKey(context: VerbContext): Verb<MarkerKey[]> {
  yield* lockKeys()
  const known = yield* markerKeys()
  if (known.length > 0) return known
  yield* insertKeys([{ ...context.newMarkerKey(), createdAt: context.now() }])
  return yield* markerKeys()
}

export function* rotateMarkerKey(context: VerbContext, actor: string): Verb<MarkerKey[]> {
  const [newest] = yield* ensureMarkerKey(context)
  const createdAt = Math.max(context.now(), (newest?.createdAt ?? 0) + 1)
  const key = { ...context.newMarkerKey(), createdAt }
  yield* insertKeys([key])
  yield* auditKeys(context, 'operator.keys_rotated', actor, [key.id])
  return yield* markerKeys()
}

export function* exportMarkerKeys(context: VerbContext, actor: string): Verb<MarkerKey[]> {
  const keys = yield* ensureMarkerKey(context)
  yield* auditKeys(
    context,
    'operator.keys_exported',
    actor,
    keys.map(({ id }) => id),
  )
  return keys
}

export function* importMarkerKeys(
  context: VerbContext,
  given: readonly MarkerKey[],
  actor: string,
): Verb<ImportedKeys> {
  yield* lockKeys()
  const secrets = new Map((yield* markerKeys()).map(({ id, secret }) => [id, secret]))
  const known = given.filter(({ id }) => secrets.has(id))
  // A file may contain a key twice, for example if two exports were put together.
  const missing = [
    ...new Map(given.filter(({ id }) => !secrets.has(id)).map((key) => [key.id, key])).values(),
  ]
  for (const { id, secret } of missing) secrets.set(id, secret)
  const other = given.find(({ id, secret }) => secrets.get(id) !== secret)
  if (other !== undefined) throw keyDiffers(other.id)
  if (missing.length > 0) {
    yield* insertKeys(missing)
    yield* lookAgain(context)
    yield* auditKeys(
      context,
      'operator.keys_imported',
      actor,
      missing.map(({ id }) => id),
    )
  }
  return { added: missing.map(({ id }) => id), known: known.map(({ id }) => id) }
}

/** Until this transaction ends, no other one can take this lock and add keys. */
function* lockKeys(): Verb<void> {
  yield* lockState('marker_keys', 'made')
}

function* insertKeys(keys: readonly MarkerKey[]): Verb<void> {
  const rows = keys.map(({ id, secret, createdAt }) => [id, secret, createdAt])
  yield sql`INSERT INTO marker_key (id, secret, created_at) VALUES ${tuples(rows)}`
}

/** A new key may verify markers that no key verified before. */
function* lookAgain(context: VerbContext): Verb<void> {
  const held = yield* selectDeliveries(sql`status = 'PENDING' AND wait = 'held'
    AND error_code = 'unverified_marker' ORDER BY id`)
  const now = context.now()
  yield* storeDeliveries(
    context,
    held.map((delivery) => lookAgainWithNewKeys(delivery, now, context.publishing)),
  )
}

function* auditKeys(
  context: VerbContext,
  type: 'operator.keys_rotated' | 'operator.keys_exported' | 'operator.keys_imported',
  actor: string,
  keyIds: readonly string[],
): Verb<void> {
  const data = { key_ids: keyIds }
  yield* insertAudit({ type, actor, runId: null, data }, null, context.now())
}

function keyDiffers(id: string): ConflictError {
  return new ConflictError('key_differs', `marker key ${id} is known here with another secret`, {
    hint: 'Nothing was imported. Check that the file was exported by Holdfast and not edited.',
  })
}
