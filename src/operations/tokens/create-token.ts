/** Makes a token. Its secret is in this answer and nowhere else: only its hash is stored. */
import { newTokenOf, type CreatedTokenView, type TokenBody } from '../../contract/tokens.ts'
import { makeSecret, scopedToken } from '../../secrets.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

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
