/** Every token there is, newest first and without its secret. */
import { pageView, type Paging } from '../../contract/answers.ts'
import { tokenView, type TokenList } from '../../contract/tokens.ts'
import { pageOf } from '../listing.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const listTokens = operation(
  { scopes: [] },
  async ({ store }: Pick<OperationPorts, 'store'>, _caller, paging: Paging): Promise<TokenList> =>
    pageView(await store.tokens.list(pageOf(paging)), tokenView),
)
