/** Numbers for `doctor`: every query uses an index, and counting stops early. */
import type { Counted, StoreMode, StoreVitals } from '../../../store.ts'
import type { Row, Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { readState } from '../../tables/state-table.ts'

const countMax = 1000
/** The sweeper reads due runs every second, so these should not exist. */
const unsweptMs = 60_000

export function* storeVitals(now: number): Verb<StoreVitals> {
  const mode = yield* readState('mode')
  const aliveAt = yield* readState('alive_at')
  const free = yield sql`SELECT type, available_at FROM run WHERE available_at IS NOT NULL
    ORDER BY asked DESC, available_at LIMIT ${countMax + 1}`
  const [oldest] = yield sql`SELECT available_at FROM run
    WHERE available_at IS NOT NULL AND asked = 0 ORDER BY available_at LIMIT 1`
  const overdue = yield sql`SELECT id FROM run WHERE due_at IS NOT NULL
    AND due_at < ${now - unsweptMs} ORDER BY due_at LIMIT ${countMax + 1}`
  return {
    mode: mode as StoreMode | null,
    aliveAt: aliveAt === null ? null : Number(aliveAt),
    pending: {
      ...counted(free),
      oldestAt: oldestOf([...free.slice(0, 1), ...(oldest === undefined ? [] : [oldest])]),
      types: [...new Set(free.map((row) => row['type'] as string))].toSorted(),
    },
    overdue: counted(overdue),
  }
}

function oldestOf(rows: readonly Row[]): number | null {
  return rows.length === 0 ? null : Math.min(...rows.map((row) => Number(row['available_at'])))
}

function counted(rows: readonly object[]): Counted {
  return { count: Math.min(rows.length, countMax), more: rows.length > countMax }
}
