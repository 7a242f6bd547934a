/**
 * An address from outside that we publish as a link.
 *
 * What must hold: it is an address of the web; it carries no secret, no account and no character
 * that is not seen. An address that does is not published at all: half of it would lead nowhere.
 */
import { hideSecrets } from '../hide-secrets.ts'
import { destinationOf, withoutThread } from './inert-url.ts'

const urlMax = 2000

/** As given where that is plain ASCII, else with everything else encoded; null when unfit. */
export function publishedUrl(text: string | null): string | null {
  if (text === null || text.length > urlMax || hideSecrets(text) !== text) return null
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') return null
  return /^[\x21-\x7e]+$/.test(text) ? text : url.href
}

/** The same, for the place of a link in Markdown, where it leaves no note on an issue either. */
export function markdownUrl(text: string): string | null {
  const url = publishedUrl(text)
  return url === null ? null : withoutThread(destinationOf(new URL(url)))
}
