/** The verbs for tokens. */
import type * as port from '../../store/token-store.ts'
import type { IdempotencyKey, Page, Paged } from '../../store.ts'
import {
  createToken,
  deleteToken,
  endedTokens,
  listTokens,
  noteRefusals,
  selectToken,
  touchToken,
} from '../verbs/tokens/tokens.ts'
import type { VerbRunner } from './verb-runner.ts'

export class SqlTokens implements port.TokenStore {
  readonly #runner: VerbRunner

  constructor(runner: VerbRunner) {
    this.#runner = runner
  }

  create(token: port.NewToken, idempotencyKey: IdempotencyKey | null): Promise<port.CreatedToken> {
    return this.#runner.withKey(idempotencyKey, () => createToken(this.#runner.context, token))
  }

  list(page: Page): Promise<Paged<port.Token>> {
    return this.#runner.read(() => listTokens(page))
  }

  revoke(id: string, actor: string): Promise<void> {
    const { context } = this.#runner
    return this.#runner.transact(() => deleteToken(context, id, actor))
  }

  get(id: string): Promise<port.StoredToken | null> {
    return this.#runner.read(() => selectToken(id))
  }

  touch(id: string): Promise<void> {
    const { context } = this.#runner
    return this.#runner.transact(() => touchToken(context, id))
  }

  noteRefusals(refusals: readonly port.Refusals[]): Promise<void> {
    const { context } = this.#runner
    return this.#runner.transact(() => noteRefusals(context, refusals))
  }

  ended(ids: readonly string[]): Promise<readonly string[]> {
    const { context } = this.#runner
    return this.#runner.read(() => endedTokens(ids, context.now()))
  }
}
