/** Revokes a token, and with it the leases and run tokens that were obtained with it. */
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const deleteToken = operation(
  { scopes: [] },
  async ({ store }: Pick<OperationPorts, 'store'>, { actor }, { id }: Named): Promise<void> => {
    await store.tokens.revoke(id, actor)
  },
)
