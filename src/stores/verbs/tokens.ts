/** Scoped tokens: made once, shown once, kept as a hash. */
import { NotFoundError } from '../../errors.ts'
import { hashSecret } from '../../secrets.ts'
import type { CreatedToken, NewToken, Page, Paged, StoredToken, Token } from '../../store.ts'
import { cutPage, pageAfterId } from '../paging.ts'
import type { Row, Verb } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import type { VerbContext } from './context.ts'

const columns = raw('id, scope, name, user_id, secret_hash, created_at')

function decode(row: Row): StoredToken {
  return {
    id: row['id'] as string,
    scope: row['scope'] as string,
    name: row['name'] as string | null,
    userId: row['user_id'] as number | null,
    secretHash: row['secret_hash'] as string,
    createdAt: row['created_at'] as number,
  }
}

function withoutHash({ id, scope, name, userId, createdAt }: StoredToken): Token {
  return { id, scope, name, userId, createdAt }
}

export function* createToken(context: VerbContext, token: NewToken): Verb<CreatedToken> {
  const now = context.now()
  const stored: StoredToken = {
    id: context.newId('tok'),
    scope: token.scope,
    name: token.name,
    userId: token.userId,
    secretHash: hashSecret(token.secret),
    createdAt: now,
  }
  yield sql`INSERT INTO token (${columns}) VALUES (${stored.id}, ${stored.scope}, ${stored.name},
    ${stored.userId}, ${stored.secretHash}, ${now})`
  yield* auditToken('operator.token_created', stored, token.actor, now)
  return { token: withoutHash(stored), secret: token.secret }
}

export function* deleteToken(context: VerbContext, id: string, actor: string): Verb<void> {
  const [row] = yield sql`DELETE FROM token WHERE id = ${id} RETURNING ${columns}`
  if (row === undefined) throw new NotFoundError('token_not_found', `there is no token ${id}`)
  yield* auditToken('operator.token_deleted', decode(row), actor, context.now())
}

function* auditToken(
  type: 'operator.token_created' | 'operator.token_deleted',
  { id, scope, name }: StoredToken,
  actor: string,
  now: number,
): Verb<void> {
  yield* insertAudits([{ type, actor, runId: null, data: { token_id: id, scope, name } }], now)
}

export function* selectToken(id: string): Verb<StoredToken | null> {
  const [row] = yield sql`SELECT ${columns} FROM token WHERE id = ${id}`
  return row === undefined ? null : decode(row)
}

export function* listTokens(page: Page): Verb<Paged<Token>> {
  const rows = yield sql`SELECT ${columns} FROM token WHERE ${pageAfterId(page)}
    ORDER BY id DESC LIMIT ${page.limit + 1}`
  return cutPage(rows.map(decode), page, withoutHash)
}
