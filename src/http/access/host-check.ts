/**
 * Which names this server answers to. A web page can make a browser send requests to a name of the
 * page's own that suddenly means 127.0.0.1; its `Host` gives it away. Only a server that listens on
 * this machine alone has something to hide from such a page: one that others reach is reached by
 * names we cannot know, and asks everybody for a token anyway.
 */
import { isLoopbackName } from '../../settings/loopback.ts'

export type IsOurHost = (host: string | undefined) => boolean

export interface HostNames {
  /** What the server listens on. */
  readonly host: string
  readonly publicUrl: string | null
}

export function hostCheck({ host, publicUrl }: HostNames): IsOurHost {
  if (!isLoopbackName(host)) return () => true
  const names = [host, ...(publicUrl === null ? [] : [new URL(publicUrl).hostname])]
  const known = new Set(names.map((name) => name.toLowerCase()))
  return (given) => {
    const name = nameOf(given)
    return name !== null && (isLoopbackName(name) || known.has(name))
  }
}

/** Without its port; null for what is no name. */
function nameOf(given: string | undefined): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+)(?::\d{1,5})?$/i.exec(given ?? '')
  return match?.[1]?.toLowerCase().replace(/\.$/, '') ?? null
}
