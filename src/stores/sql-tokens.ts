/** The verbs for tokens over any driver; a part of the store. */
import type * as port from '../token-store.ts'
import type { Once, Page, Paged } from '../store.ts'
import type { Driver } from './driver.ts'
import type { VerbContext } from './verbs/context.ts'
import { withOnce } from './verbs/once.ts'
import {
  createToken,
  deleteToken,
  endedTokens,
  listTokens,
  noteRefusals,
  selectToken,
  touchToken,
} from './verbs/tokens.ts'

export abstract class SqlTokens implements port.TokenStore {
  protected abstract readonly means: { readonly driver: Driver; readonly context: VerbContext }

  createToken(token: port.NewToken, once: Once | null): Promise<port.CreatedToken> {
    const { driver, context } = this.means
    return driver.transact(() => withOnce(context, once, () => createToken(context, token)))
  }

  listTokens(page: Page): Promise<Paged<port.Token>> {
    return this.means.driver.read(() => listTokens(page))
  }

  deleteToken(id: string, actor: string): Promise<void> {
    const { driver, context } = this.means
    return driver.transact(() => deleteToken(context, id, actor))
  }

  token(id: string): Promise<port.StoredToken | null> {
    return this.means.driver.read(() => selectToken(id))
  }

  touchToken(id: string): Promise<void> {
    const { driver, context } = this.means
    return driver.transact(() => touchToken(context, id))
  }

  noteRefusals(refusals: readonly port.Refusals[]): Promise<void> {
    const { driver, context } = this.means
    return driver.transact(() => noteRefusals(context, refusals))
  }

  endedTokens(ids: readonly string[]): Promise<readonly string[]> {
    const { driver, context } = this.means
    return driver.read(() => endedTokens(ids, context.now()))
  }
}
