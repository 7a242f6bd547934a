/**
 * Which host names this server accepts. The owner of a web page can let the page's own host name
 * lead to 127.0.0.1, so that a browser sends the page's requests to this server. The `Host` header
 * shows that. Only a server that listens on this machine alone checks it: other servers can have
 * names that we do not know, and every request there needs a token anyway.
 */
import { isLoopbackName } from '../../validation/text-fields.ts'

export type IsOurHost = (host: string | undefined) => boolean

export interface HostNames {
  /** What the server listens on. */
  readonly host: string
  readonly publicUrl: string | null
}

export function hostCheck({ host, publicUrl }: HostNames): IsOurHost {
  if (!isLoopbackName(host)) return () => true
  const names = [host, ...(publicUrl === null ? [] : [new URL(publicUrl).hostname])]
  const ownNames = new Set(names.map((name) => name.toLowerCase()))
  return (given) => {
    const name = nameOf(given)
    return name !== null && (isLoopbackName(name) || ownNames.has(name))
  }
}

/** The host name without the port, or null if it is invalid. */
function nameOf(given: string | undefined): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+)(?::\d{1,5})?$/i.exec(given ?? '')
  return match?.[1]?.toLowerCase().replace(/\.$/, '') ?? null
}
