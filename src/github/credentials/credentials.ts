/**
 * Port: the credentials for each actor. `app` is the App itself, `account` any account that may
 * read public data, `nobody` asks without credentials, and a repository means whoever may act
 * there.
 */

export type Repository =
  { readonly owner: string; readonly name: string } | { readonly repositoryId: number }

export type Actor = 'app' | 'account' | 'nobody' | { readonly installationId: number } | Repository

export interface Credentials {
  /** The value of the `authorization` header; null for none. */
  authorization(actor: Actor): Promise<string | null>
  /** GitHub answered 401 to it. Returns false when there are no other credentials to try. */
  onRefused(actor: Actor, authorization: string): boolean
  /** GitHub answered 404: perhaps these credentials no longer have access. */
  onNotFound(actor: Actor): void
  /** Actors that may read public data, each with its own rate limit: a few, the best first. */
  publicReaders(): Promise<readonly Actor[]>
  /** The name of our identity there: everything with the same name shares one rate limit. */
  identity(repository: Repository): Promise<string>
}

/** A token is the same for every actor and never changes. */
export function tokenCredentials(token: string): Credentials {
  return {
    authorization: async () => `Bearer ${token}`,
    onRefused: () => false,
    onNotFound: () => undefined,
    publicReaders: async () => ['account'],
    identity: async () => 'github:user',
  }
}
