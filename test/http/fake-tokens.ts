/** Fake tokens for the HTTP tests. */
import { NotFoundError } from '../../src/errors.ts'
import type { StoredToken } from '../../src/store.ts'
import type { Refusals, TokenStore } from '../../src/store/token-store.ts'
import { startedAt } from './fake-facts.ts'
import type { Change } from './fakes.ts'

interface State {
  readonly failure: Error | null
  readonly changes: Change[]
  readonly tokens: Map<string, StoredToken>
  readonly touched: string[]
  readonly refusals: Refusals[]
}

export function fakeTokens(state: State): TokenStore {
  const check = (): void => {
    if (state.failure !== null) throw state.failure
  }
  return {
    async get(id) {
      check()
      return state.tokens.get(id) ?? null
    },
    async create(token, once) {
      check()
      const { actor } = token
      state.changes.push({ verb: 'createToken', request: token, actor, once: once ?? undefined })
      const { scope, name, userId, types = null, expiresAt = null, secret } = token
      const repositories = token.repos?.map((pattern) => ({ pattern, repositoryId: null })) ?? null
      const times = { createdAt: startedAt, expiresAt, lastUsedAt: null }
      const limits = { repositories, types }
      return { token: { id: 'tok_new', scope, name, userId, limits, ...times }, secret }
    },
    async list() {
      check()
      return { items: [...state.tokens.values()], nextCursor: null }
    },
    async revoke(id, actor) {
      check()
      if (!state.tokens.has(id)) throw new NotFoundError('token_not_found', `no token ${id}`)
      state.changes.push({ verb: 'deleteToken', request: { id }, actor, once: undefined })
    },
    async touch(id) {
      check()
      state.touched.push(id)
    },
    async noteRefusals(refusals) {
      state.refusals.push(...refusals)
    },
    async ended(ids) {
      check()
      return ids.filter((id) => !state.tokens.has(id))
    },
  }
}
