/** A token as the wire shows it: never its secret. */
import type { Token } from '../store.ts'
import { timeView } from './run-view.ts'

export function tokenView(token: Token) {
  return {
    id: token.id,
    scope: token.scope,
    name: token.name,
    user_id: token.userId,
    created_at: timeView(token.createdAt),
  }
}
