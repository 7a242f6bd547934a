/**
 * Port: what we show to GitHub, by whom we act as. `app` is the App itself, `account` whatever may
 * ask about public things, `nobody` a stranger, a repository whoever may act there.
 */

export type Repository =
  { readonly owner: string; readonly name: string } | { readonly repositoryId: number }

export type Actor = 'app' | 'account' | 'nobody' | { readonly installationId: number } | Repository

export interface Credentials {
  /** The value of the `authorization` header; null to ask without. */
  authorization(actor: Actor): Promise<string | null>
  /** GitHub answered 401 to it. False when there is no other to be had. */
  refused(actor: Actor, authorization: string): boolean
  /** GitHub answered 404: perhaps to somebody who may no longer look there. */
  unseen(actor: Actor): void
  /** Who may ask about public things, each with a limit of its own: a few, the best first. */
  anybody(): Promise<readonly Actor[]>
  /** A name for all who share one rate limit there. */
  identity(repository: Repository): Promise<string>
}

/** A token is the same whoever we act as, and stays what it is. */
export function tokenCredentials(token: string): Credentials {
  return {
    authorization: async () => `Bearer ${token}`,
    refused: () => false,
    unseen: () => undefined,
    anybody: async () => ['account'],
    identity: async () => 'github:user',
  }
}
