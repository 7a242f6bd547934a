/** Looks now for webhooks that never came and pull requests that changed without one. */
import { catchUpView, type CatchUpView } from '../../contract/catch-up.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const catchUp = operation(
  { scopes: ['operator'] },
  async ({ catchUp: look }: Pick<OperationPorts, 'catchUp'>): Promise<CatchUpView> =>
    catchUpView(await look()),
)
