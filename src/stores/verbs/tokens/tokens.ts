/** Scoped tokens: shown once, stored as a hash; their leases end with them. */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { LeaseGrant } from '../../../domain/run.ts'
import { revokedUntil } from '../../../domain/run.ts'
import type { RepositoryLimit } from '../../../domain/token-limits.ts'
import { isNameStart } from '../../../domain/token-limits.ts'
import { InvalidInputError, NotFoundError, UnauthorizedError } from '../../../errors.ts'
import { hashSecret } from '../../../secrets.ts'
import type { Page, Paged } from '../../../store.ts'
import type {
  CreatedToken,
  NewToken,
  Refusals,
  StoredToken,
  Token,
} from '../../../store/token-store.ts'
import { cutPage, pageAfterId } from '../../paging.ts'
import type { Row, Verb } from '../../sql.ts'
import { join, padded, raw, sql, tuples } from '../../sql.ts'
import { insertAudit, insertAudits, insertDecision } from '../../tables/audit-table.ts'
import { resolveRepositories } from '../../tables/repository-table.ts'
import { forgetLeases } from '../../tables/step-table.ts'
import type { VerbContext } from '../context.ts'

const columns = raw(
  'id, scope, name, user_id, secret_hash, created_at, types, expires_at, last_used_at',
)

/** The time of last use is stored at most this often. */
const touchEveryMs = 60_000

function decode(row: Row, limits: readonly RepositoryLimit[]): StoredToken {
  const types = row['types'] as string | null
  return {
    id: row['id'] as string,
    scope: row['scope'] as string,
    name: row['name'] as string | null,
    userId: row['user_id'] as number | null,
    limits: {
      repositories: limits.length === 0 ? null : limits,
      types: types === null ? null : (JSON.parse(types) as string[]),
    },
    secretHash: row['secret_hash'] as string,
    createdAt: row['created_at'] as number,
    expiresAt: row['expires_at'] as number | null,
    lastUsedAt: row['last_used_at'] as number | null,
  }
}

function withoutHash({ secretHash: _hash, ...token }: StoredToken): Token {
  return token
}

export function* createToken(context: VerbContext, token: NewToken): Verb<CreatedToken> {
  const now = context.now()
  const { scope, name, userId, types = null, expiresAt = null, secret, actor } = token
  if (expiresAt !== null && expiresAt <= now) {
    throw new InvalidInputError('invalid_value', 'expires_at', 'expires_at is in the past')
  }
  const id = context.newId('tok')
  const repositories = token.repos ? yield* bindRepositories(context, token.repos) : null
  const secretHash = hashSecret(secret)
  const stored = { id, scope, name, userId, expiresAt, lastUsedAt: null, createdAt: now }
  yield sql`INSERT INTO token (${columns}) VALUES (${id}, ${scope}, ${name}, ${userId},
    ${secretHash}, ${now}, ${types && JSON.stringify(types)}, ${expiresAt}, ${null})`
  if (repositories !== null && repositories.length > 0) {
    yield sql`INSERT INTO token_repository (token_id, pattern, repository_id) VALUES ${tuples(
      repositories.map(({ pattern, repositoryId }) => [id, pattern, repositoryId]),
    )}`
  }
  const limits = { repositories, types }
  yield* insertAudit(audit('operator.token_created', { ...stored, limits }, actor), null, now)
  return { token: { ...stored, limits }, secret }
}

/** A limit to one repository stores our own id of it; an unknown repository gets a row. */
function* bindRepositories(
  context: VerbContext,
  patterns: readonly string[],
): Verb<RepositoryLimit[]> {
  const names = patterns.filter((pattern) => !isNameStart(pattern))
  const ids = yield* resolveRepositories(names, () => context.newId('rep'), context.now())
  return [...new Set(patterns)].map((pattern) => ({
    pattern,
    repositoryId: ids.get(pattern) ?? null,
  }))
}

/**
 * The leases of the token end in the same commit: they can no longer be renewed or completed. The
 * sweeper then gives the runs back, as with every lost lease. A verb that grants a lease locks the
 * token's row until its own commit (`endedForGrant`), so no lease is missed here.
 */
export function* deleteToken(context: VerbContext, id: string, actor: string): Verb<void> {
  const limits = yield* limitsOf([id])
  const [row] = yield sql`DELETE FROM token WHERE id = ${id} RETURNING ${columns}`
  if (row === undefined) {
    throw new NotFoundError('token_not_found', `there is no token ${id}`, {
      hint: 'List the tokens there are with "holdfast token list".',
    })
  }
  yield sql`DELETE FROM token_repository WHERE token_id = ${id}`
  const now = context.now()
  const held =
    yield sql`UPDATE run SET rev = rev + 1, token_until = ${revokedUntil}, due_at = ${now}
    WHERE token_id = ${id} AND state IN ('running', 'waiting')
    RETURNING id, worker, round, attempt, lease_hash`
  yield* forgetLeases(
    held.map((run) => ({ runId: run['id'] as string, leaseHash: run['lease_hash'] as string })),
  )
  const token = decode(row, limits.get(id) ?? [])
  const revoked = held.map((run): AuditDraft => ({
    type: 'run.lease_revoked',
    actor,
    runId: run['id'] as string,
    data: {
      token_id: id,
      worker: run['worker'],
      round: Number(run['round']),
      attempt: Number(run['attempt']),
    },
  }))
  yield* insertDecision([audit('operator.token_deleted', token, actor), ...revoked], null, now)
}

function audit(
  type: 'operator.token_created' | 'operator.token_deleted',
  { id, scope, name, limits, expiresAt }: Token,
  actor: string,
): AuditDraft {
  const { repositories, types } = limits
  const data = {
    token_id: id,
    scope,
    name,
    ...(repositories !== null && { repos: repositories.map(({ pattern }) => pattern) }),
    ...(types !== null && { types }),
    ...(expiresAt !== null && { expires_at: expiresAt }),
  }
  return { type, actor, runId: null, data }
}

export function* selectToken(id: string): Verb<StoredToken | null> {
  const [row] = yield sql`SELECT ${columns} FROM token WHERE id = ${id}`
  if (row === undefined) return null
  return decode(row, (yield* limitsOf([id])).get(id) ?? [])
}

export function* listTokens(page: Page): Verb<Paged<Token>> {
  const rows = yield sql`SELECT ${columns} FROM token WHERE ${pageAfterId(page)}
    ORDER BY id DESC LIMIT ${page.limit + 1}`
  const limits = yield* limitsOf(rows.map((row) => row['id'] as string))
  const tokens = rows.map((row) => decode(row, limits.get(row['id'] as string) ?? []))
  return cutPage(tokens, page, withoutHash)
}

function* limitsOf(ids: readonly string[]): Verb<Map<string, RepositoryLimit[]>> {
  const limits = new Map<string, RepositoryLimit[]>()
  if (ids.length === 0) return limits
  const rows = yield sql`SELECT token_id, pattern, repository_id FROM token_repository
    WHERE token_id IN (${join(padded(ids))}) ORDER BY token_id, pattern`
  for (const row of rows) {
    const id = row['token_id'] as string
    const limit = {
      pattern: row['pattern'] as string,
      repositoryId: row['repository_id'] as string | null,
    }
    limits.set(id, [...(limits.get(id) ?? []), limit])
  }
  return limits
}

export function* touchToken(context: VerbContext, id: string): Verb<void> {
  const now = context.now()
  yield sql`UPDATE token SET last_used_at = ${now} WHERE id = ${id}
    AND (last_used_at IS NULL OR last_used_at <= ${now - touchEveryMs} OR last_used_at > ${now})`
}

export function* noteRefusals(context: VerbContext, refusals: readonly Refusals[]): Verb<void> {
  const drafts = refusals.map((data): AuditDraft => ({
    type: 'access.refused',
    actor: 'system',
    runId: null,
    refused: data.what,
    data: { ...data },
  }))
  yield* insertAudits(drafts, null, context.now())
}

export function* endedTokens(ids: readonly string[], now: number): Verb<string[]> {
  if (ids.length === 0) return []
  const rows = yield sql`SELECT id FROM token WHERE id IN (${join(padded(ids))})
    AND (expires_at IS NULL OR expires_at > ${now})`
  const live = new Set(rows.map((row) => row['id'] as string))
  return ids.filter((id) => !live.has(id))
}

/**
 * Answers the tokens that no longer exist; the others cannot be deleted until this transaction
 * ends. Call it before any other lock, because revoking locks the token before the runs.
 */
export function* endedForGrant(
  { dialect }: VerbContext,
  grants: readonly (Pick<LeaseGrant, 'token'> | null)[],
): Verb<Set<string>> {
  const ids = [...new Set(grants.flatMap((grant) => grant?.token?.id ?? []))].toSorted()
  if (ids.length === 0) return new Set()
  const rows = yield sql`SELECT id FROM token WHERE id IN (${join(padded(ids))}) ORDER BY id
    ${dialect.keepUnchanged}`
  const live = new Set(rows.map((row) => row['id'] as string))
  return new Set(ids.filter((id) => !live.has(id)))
}

export function tokenRevoked(): UnauthorizedError {
  return new UnauthorizedError('unauthorized', 'the token was revoked during this request', {
    hint: 'An admin can make another: holdfast token create --scope SCOPE.',
  })
}

/** Two rows were merged into one repository: limits to the one become limits to the other. */
export function* moveTokenLimits(from: string, into: string): Verb<void> {
  yield sql`UPDATE token_repository SET repository_id = ${into} WHERE repository_id = ${from}`
}
