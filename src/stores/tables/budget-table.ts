/** Table `budget`: one row per identity. A publisher locks it before it writes as that identity. */
import type { Budget } from '../../domain/outbox/budget.ts'
import { newBudget } from '../../domain/outbox/budget.ts'
import type { Pace } from '../../domain/outbox/queue.ts'
import type { Verb } from '../sql.ts'
import { join, padded, sql } from '../sql.ts'
import { table } from './table.ts'

const budget = table<Budget>(
  'budget',
  [
    'identity',
    'rev',
    'lastWriteAt',
    'seconds',
    'minutes',
    'blockedUntil',
    'blockedReason',
    'blockedSince',
    'writesFrom',
    'progressFrom',
    'furtherFrom',
    'updatedAt',
  ],
  { json: ['seconds', 'minutes'] },
)

const pace = table<Pace>('budget', [
  'identity',
  'lastWriteAt',
  'writesFrom',
  'progressFrom',
  'furtherFrom',
])

export function* lockBudget(identity: string, now: number): Verb<Budget> {
  const fresh = newBudget(identity, now)
  const [locked] = yield* budget.read(sql`INSERT INTO budget (${budget.columns})
    VALUES (${join(budget.encode(fresh))})
    ON CONFLICT (identity) DO UPDATE SET rev = budget.rev + 1 RETURNING ${budget.columns}`)
  return locked ?? fresh
}

/** Only for a budget that this transaction has locked. */
export function* writeBudget(item: Budget): Verb<void> {
  yield sql`INSERT INTO budget (${budget.columns}) VALUES (${join(budget.encode(item))})
    ON CONFLICT (identity) DO UPDATE SET ${budget.overwrite}`
}

/** Sorted by name. If there are too many: blocked ones first, then those that wrote last. */
export function* selectBudgets(): Verb<Budget[]> {
  const budgets = yield* budget.read(sql`SELECT ${budget.columns} FROM budget
    ORDER BY (blocked_until IS NULL), updated_at DESC LIMIT 1000`)
  return budgets.toSorted((a, b) => (a.identity < b.identity ? -1 : 1))
}

export function* isKnownIdentity(identity: string): Verb<boolean> {
  const rows = yield sql`SELECT identity FROM budget WHERE identity = ${identity}`
  return rows.length > 0
}

export function* selectPaces(identities: readonly string[]): Verb<Map<string, Pace>> {
  if (identities.length === 0) return new Map()
  const paces = yield* pace.read(sql`SELECT ${pace.columns} FROM budget
    WHERE identity IN (${join(padded(identities))})`)
  return new Map(paces.map((each) => [each.identity, each]))
}

export function* blockedUntil(identity: string): Verb<number | null> {
  const [row] = yield sql`SELECT blocked_until FROM budget WHERE identity = ${identity}`
  return (row?.['blocked_until'] ?? null) as number | null
}
