/**
 * Makes addresses and words of Markdown prose from outside harmless: they notify nobody and refer
 * to no issue. Addresses are read as CommonMark reads them: an escape or an entity in an address
 * means its character.
 *
 * What must hold: an address ends at the first place where any parser might end it. The text after
 * it is handled as words. The time grows in proportion to the text.
 */
import { entity, entityText, punctuation } from '../../texts/shown-text.ts'
import { zeroWidth } from './code-blocks.ts'

/** After a letter or digit, `@` is part of an address and no mention. */
const mentionStart = /(?<![A-Za-z0-9])@(?![\s\u200b])/g
/** Not inside an entity. An escape before the hyphen is not shown. */
export const referenceStart = /(?<!(?<!\\)&(?=#\d{1,7};))#(?=\d)|(?<![A-Za-z0-9])GH\\?-(?=\d)/gi

export function inertWords(text: string): string {
  return text.replaceAll(mentionStart, `@${zeroWidth}`).replaceAll(referenceStart, `$&${zeroWidth}`)
}

const scheme = String.raw`https?\\?:`
const web = String.raw`www\\?\.`
const webHost = String.raw`(?:\\?/\\?/${web})?`
/**
 * One character of an address as it is written. Brackets, quotes and bars may end the address, and
 * another address may begin inside it.
 */
const unit =
  String.raw`(?!${scheme}|${web})` +
  String.raw`(?:\\${punctuation}|\\(?!${punctuation}|\s)|[^\s<>()[\]|"\x60\\])`
const redirecting = 'https://redirect.github.com'
/** An address without a host leads to GitHub itself. */
const home = 'https://github.com'
const destination = String.raw`(?<=\]\([ \t]{0,9}<?|\]:[ \t]{0,9}<?)`

/** An address in prose, or a link to GitHub itself. It has one group, for `split`. */
export const writtenUrl = new RegExp(
  `((?<![A-Za-z])(?:${scheme}${webHost}|${web})(?:${unit})+` +
    String.raw`|(?=\\?/)${destination}${webHost}(?:${unit})+)`,
  'i',
)
/** Only an address that begins with a scheme. */
export const absoluteUrl = `${scheme}${webHost}(?:${unit})+`

const spelled = new RegExp(String.raw`\\${punctuation}|${entity}`, 'g')

/** Returns null if it is not an address. Unknown entities stay as they are written. */
export function readUrl(written: string): URL | null {
  const read = written.replaceAll(spelled, (part) =>
    part.startsWith('\\') ? part.slice(1) : (entityText(part) ?? part),
  )
  if (/^www\./i.test(read)) return URL.parse(`https://${read}`)
  return read.startsWith('/') ? URL.parse(read, home) : URL.parse(read)
}

/** Whether every entity in it is known. Only then is it certain how parsers read it. */
export function isReadable(written: string): boolean {
  return (written.match(spelled) ?? []).every(
    (part) => part.startsWith('\\') || entityText(part) !== null,
  )
}

/** For the address part of a Markdown link. Nothing in it ends the link or has a meaning. */
export function destinationOf({ href }: URL): string {
  return href.replaceAll(/[()<>[\]\\`|"@!$*]|&(?=#?\w+;)/g, percentEncoded)
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}

const ofThread = /^\/+[^/]+\/+[^/]+\/+(?:issues|pull|discussions)\//i
/** Only an address that matches this may belong to a thread and has to be read. */
const mayBeThread = /issues|pull|discussions|[\\&%]/i
const plainly = /^(?:https?:\/\/)?(?:www\.)?github\.com(?=\/)/i

/**
 * An address that every parser reads to its end, so nothing in it is a reference. A mark of
 * emphasis may end an address.
 */
const certain = new RegExp(
  String.raw`^https?://[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)+(?::\d+)?` +
    String.raw`(?:[/?#](?:[a-z0-9/.?=&%:@+,;!'#-]|_(?=[a-z0-9]))*)?$`,
  'i',
)
/** An address begins after one of these, never after a letter or an invisible character. */
const certainBefore = /(?:^|[\s(<>"'|*~.,:!?-])$/

/** `before`: the text right before it. */
export function inertUrl(written: string, before: string): string {
  const url = withoutThread(written).replaceAll(mentionStart, '%40')
  return certain.test(url) && certainBefore.test(before.slice(-1)) ? url : inertWords(url)
}

/**
 * GitHub adds a note to an issue whose address is mentioned. GitHub's redirecting host leads to the
 * same page without that note.
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
