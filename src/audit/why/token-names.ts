/** Reads the names of the tokens in an audit: a story names people, not ids. */
import type { AuditRow } from '../../domain/audit.ts'
import type { StorePart } from '../../store.ts'

const tokensMax = 20

/** By the id of the token, without deleted ones. */
export async function tokenNames(
  store: StorePart<{ tokens: 'get' }>,
  rows: readonly AuditRow[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(rows.flatMap(({ actor }) => /^token:(.+)$/.exec(actor)?.[1] ?? []))
  const found = await Promise.all([...ids].slice(0, tokensMax).map((id) => store.tokens.get(id)))
  return new Map(
    found.flatMap((stored) => {
      const { id, name } = stored ?? {}
      return id === undefined || name == null ? [] : [[id, name] as const]
    }),
  )
}
