/**
 * Addresses in Markdown prose from outside, read as CommonMark would read them: an escape or an
 * entity in one is the character it stands for.
 *
 * What must hold: an address ends here where it could end for any reader, so that what follows it
 * is handled as words. The time taken grows with the text.
 */
import { entity, entityText, punctuation } from '../shown-text.ts'
import { inertWords, mentionStart } from './inert-words.ts'

const scheme = String.raw`https?\\?:`
const web = String.raw`www\\?\.`
const webHost = String.raw`(?:\\?/\\?/${web})?`
/**
 * One character of an address as it is written. Brackets, quotes and bars may end it; another
 * address may begin in it.
 */
const unit =
  String.raw`(?!${scheme}|${web})` +
  String.raw`(?:\\${punctuation}|\\(?!${punctuation}|\s)|[^\s<>()[\]|"\x60\\])`
const redirecting = 'https://redirect.github.com'
/** GitHub itself is where an address without a host leads. */
const home = 'https://github.com'
const destination = String.raw`(?<=\]\([ \t]{0,9}<?|\]:[ \t]{0,9}<?)`

/** As written in prose, or as a destination on GitHub itself. With one group, to split by. */
export const writtenUrl = new RegExp(
  `((?<![A-Za-z])(?:${scheme}${webHost}|${web})(?:${unit})+` +
    String.raw`|(?=\\?/)${destination}${webHost}(?:${unit})+)`,
  'i',
)
/** Only what begins with a scheme, for a place where nothing else will do. */
export const absoluteUrl = `${scheme}${webHost}(?:${unit})+`

const spelled = new RegExp(String.raw`\\${punctuation}|${entity}`, 'g')

/** Null when it is no address. An entity that is not known stays as it is written. */
export function readUrl(written: string): URL | null {
  const read = written.replaceAll(spelled, (part) =>
    part.startsWith('\\') ? part.slice(1) : (entityText(part) ?? part),
  )
  if (/^www\./i.test(read)) return URL.parse(`https://${read}`)
  return read.startsWith('/') ? URL.parse(read, home) : URL.parse(read)
}

/** Whether every entity in it is known, so that it was read as everybody reads it. */
export function isReadable(written: string): boolean {
  return (written.match(spelled) ?? []).every(
    (part) => part.startsWith('\\') || entityText(part) !== null,
  )
}

/** In the place of a link's destination: nothing in it ends the link, or can be read again. */
export function destinationOf({ href }: URL): string {
  return href.replaceAll(/[()<>[\]\\`|"@!$*]|&(?=#?\w+;)/g, percentEncoded)
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}

const ofThread = /^\/+[^/]+\/+[^/]+\/+(?:issues|pull|discussions)\//i
/** Whether it is worth reading: most addresses say plainly that they are none of a thread. */
const mayBeThread = /issues|pull|discussions|[\\&%]/i
const plainly = /^(?:https?:\/\/)?(?:www\.)?github\.com(?=\/)/i

/**
 * Every reader takes the whole of it for an address, in which nothing is a reference. A mark of
 * emphasis may end one.
 */
const certain = new RegExp(
  String.raw`^https?://[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)+(?::\d+)?` +
    String.raw`(?:[/?#](?:[a-z0-9/.?=&%:@+,;!'#-]|_(?=[a-z0-9]))*)?$`,
  'i',
)
/** And none begins behind a letter, or behind what is not seen. */
const certainBefore = /(?:^|[\s(<>"'|*~.,:!?-])$/

/** `before`: what comes right before it. */
export function inertUrl(written: string, before: string): string {
  const url = withoutThread(written).replaceAll(mentionStart, '%40')
  return certain.test(url) && certainBefore.test(before.slice(-1)) ? url : inertWords(url)
}

/**
 * The address of an issue would leave a note on that issue; GitHub's own redirecting host leads to
 * the same page and leaves none.
 */
export function withoutThread(written: string): string {
  const url = mayBeThread.test(written) ? readUrl(written) : null
  if (url === null || !/^(?:www\.)?github\.com\.?$/.test(url.hostname)) return written
  const path = url.pathname.replaceAll(/%[2-7][0-9a-f]/gi, decodeURIComponent)
  if (!ofThread.test(path)) return written
  const isPlain = plainly.test(written) && written.search(spelled) === -1
  if (isPlain) return written.replace(plainly, redirecting)
  return destinationOf(new URL(redirecting + url.pathname + url.search + url.hash))
}
