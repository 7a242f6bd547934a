/**
 * Makes Markdown prose from outside harmless: it contains no HTML, notifies nobody, refers to no
 * issue, loads no image and commands no bot. An invisible character is put into what would have
 * such an effect, so the text reads as it was written.
 *
 * What must hold: the time grows in proportion to the text, not to its square. So no pattern here
 * may start at many places and read the same stretch of text again.
 */
import { entity, entityText, punctuation } from '../../texts/shown-text.ts'
import { zeroWidth } from './code-blocks.ts'
import {
  absoluteUrl,
  destinationOf,
  inertUrl,
  inertWords,
  isReadable,
  readUrl,
  writtenUrl,
} from './inert-url.ts'

/** Hosts whose images are shown. Other images become links: showing one would call its host. */
export type ImageHosts = ReadonlySet<string>
export const noImages: ImageHosts = new Set()

/** Entities come first, because they may spell a tag or a part of an address. */
export function inertProse(text: string, imageHosts: ImageHosts): string {
  const tagless = withoutTags(nearDestinations(withoutEntities(text)))
  return withoutComment(withoutReferences(withoutImages(tagless, imageHosts)))
}

/** Removes mentions and references only, for text that is harmless except for former code. */
export function withoutReferences(text: string): string {
  return text
    .split(writtenUrl)
    .map((part, at, parts) =>
      at % 2 === 1 ? inertUrl(part, parts[at - 1] || (parts[at - 2] ?? '')) : inertWords(part),
    )
    .join('')
}

/** Lets no HTML comment begin, and so no marker. It may be used in code as well. */
export function withoutComment(text: string): string {
  return text.replaceAll('<!--', `<${zeroWidth}!--`)
}

/** Marks of quotations, lists and footnotes. A block may begin after them. */
const beforeWords = /^(?:[\s\d>*+.)-]|\[\^[^\]\s]*\]:)*/
const tagStart = /<(?=[A-Za-z/!?])(?!https?:\/\/[^\s<>]*>)/g

/** Keeps only `<br>` inside a line. At the start of a line it would begin a block of HTML. */
function withoutTags(text: string): string {
  const firstWord = beforeWords.exec(text)?.[0].length ?? 0
  return text
    .replaceAll(tagStart, (start, at: number) => {
      const isBreak = /^<br ?\/?>/i.test(text.slice(at, at + 6))
      return isBreak && firstWord < at ? start : start + zeroWidth
    })
    .replaceAll('-->', `--${zeroWidth}>`)
}

const escapeOrEntity = new RegExp(String.raw`\\${punctuation}|${entity}`, 'g')

/**
 * GitHub looks for mentions and references in the text as it is shown, so entities count. An entity
 * becomes its character, with an escape if that character may have a meaning in Markdown. The other
 * entities cannot spell anything that has an effect.
 */
function withoutEntities(text: string): string {
  return text.replaceAll(escapeOrEntity, (written) => {
    // After an escape it is not an entity.
    if (written.startsWith('\\')) return written
    const character = entityText(written) ?? ''
    if (/^[A-Za-z0-9@#/]$/.test(character)) return character
    return /^[-.:]$/.test(character) ? `\\${character}` : written
  })
}

/**
 * Brings the address of a link or definition next to its text. Otherwise many blanks, or the end of
 * a line, would hide the address from the patterns here.
 */
function nearDestinations(text: string): string {
  return text.replaceAll(/(\][(:])[ \t]{2,}/g, '$1 ').replace(/\](?=[(:] ?<?$)/, `]${zeroWidth}`)
}

/**
 * The text of an image that is kept. It has no escape, code, tag, cell, mathematics or address,
 * because a parser could find the end of the text elsewhere in them.
 */
const imageText = '[^[\\]\\\\`<>|$@]*'
const inlineImage = new RegExp(
  String.raw`!\[(${imageText})\]\((${absoluteUrl})( +"[^"\\\`<>|$]*")?\)|(?<!!)!+(?=\[)`,
  'gi',
)

/** If the host of an image is not certainly allowed, the image becomes a link or text. */
function withoutImages(text: string, hosts: ImageHosts): string {
  return text.replaceAll(
    inlineImage,
    (image, shown?: string, address?: string, title: string = '') => {
      if (shown === undefined || address === undefined) return ''
      const isCertain = !/:\/\/|www\./i.test(shown) && isReadable(address)
      const url = isCertain ? readUrl(address) : null
      if (url === null || !isOf(hosts, url)) return image.slice(1)
      return `![${shown}](${destinationOf(url)}${title})`
    },
  )
}

/** With an account or a port, it is not the host that was allowed. */
function isOf(hosts: ImageHosts, { host, username, password }: URL): boolean {
  return hosts.has(host) && username === '' && password === ''
}

const botWord = String.raw`(?:bors|homu|mergify|jenkins|recheck|retest)\b|r[+=-]`
/** Any blank, because bots remove blanks before they read a line. */
const blanks = String.raw`[\s\p{Default_Ignorable_Code_Point}]*`
const commandStart = new RegExp(
  String.raw`^${blanks}(?:/(?=[A-Za-z])|@?(?=${botWord})[A-Za-z])`,
  'iu',
)

/**
 * Other bots obey a line that begins with `/approve` or `bors r+`. They read the text as it was
 * sent, so a code block does not protect it.
 */
export function withoutCommand(line: string): string {
  return line.replace(commandStart, `$&${zeroWidth}`)
}
