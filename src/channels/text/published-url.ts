/**
 * An address from outside that is published as a link.
 *
 * What must hold: it is an http or https address without a secret, an account or an invisible
 * character. Otherwise it is not published at all, because a part of it would lead nowhere.
 */
import { hideSecrets } from '../../texts/hide-secrets.ts'
import { destinationOf, withoutThread } from './inert-url.ts'

const urlMax = 2000

/** The address, with everything but ASCII encoded. Returns null if it must not be published. */
export function publishedUrl(text: string | null): string | null {
  if (text === null || text.length > urlMax || hideSecrets(text) !== text) return null
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') return null
  return /^[\x21-\x7e]+$/.test(text) ? text : url.href
}

/** The same for a Markdown link. GitHub adds no note to an issue whose address it is. */
export function markdownUrl(text: string): string | null {
  const url = publishedUrl(text)
  return url === null ? null : withoutThread(destinationOf(new URL(url)))
}
