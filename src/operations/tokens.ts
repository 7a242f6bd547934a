/** Operations on tokens. Only an admin may call them. */
import { type Paging, pageView } from '../contract/answers.ts'
import {
  type CreatedTokenView,
  type TokenBody,
  type TokenList,
  newTokenOf,
  tokenView,
} from '../contract/tokens.ts'
import { pageOf } from './listing.ts'
import { type WithId, operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'
import { makeSecret, scopedToken } from '../secrets.ts'

/** Makes a token. Its secret is in this answer and nowhere else: only its hash is stored. */
export const createToken = operation(
  { scopes: [] },
  async (
    { store, random }: Pick<OperationPorts, 'store' | 'random'>,
    { actor },
    body: TokenBody,
    { once = null },
  ): Promise<CreatedTokenView> => {
    const wanted = { ...newTokenOf(body), secret: makeSecret(random), actor }
    const { token, secret } = await store.tokens.create(wanted, once)
    return { id: token.id, token: scopedToken(token.id, secret) }
  },
)

/** Every token there is, newest first and without its secret. */
export const listTokens = operation(
  { scopes: [] },
  async ({ store }: Pick<OperationPorts, 'store'>, _caller, paging: Paging): Promise<TokenList> =>
    pageView(await store.tokens.list(pageOf(paging)), tokenView),
)

/** Revokes a token, and with it the leases and run tokens that were obtained with it. */
export const deleteToken = operation(
  { scopes: [] },
  async ({ store }: Pick<OperationPorts, 'store'>, { actor }, { id }: WithId): Promise<void> => {
    await store.tokens.revoke(id, actor)
  },
)
