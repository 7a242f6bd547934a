/**
 * A piece of Markdown prose from outside, made unable to act: it sets no HTML, notifies nobody,
 * refers to no issue, loads no image and commands no bot. What would act is split by a character
 * that is not seen, so that it reads as it was written.
 *
 * What must hold: the time taken grows with the text, not with its square. So no pattern here can
 * be tried from many places over the same stretch of text.
 */
import { entity, entityText, punctuation } from '../shown-text.ts'
import { zeroWidth } from './code-blocks.ts'
import {
  absoluteUrl,
  destinationOf,
  inertUrl,
  isReadable,
  readUrl,
  writtenUrl,
} from './inert-url.ts'
import { inertWords } from './inert-words.ts'

/** Hosts whose images are shown; everybody else's become links, because showing one calls home. */
export type ImageHosts = ReadonlySet<string>
export const noImages: ImageHosts = new Set()

/** Entities come first: what they spell may be a tag or a part of an address. */
export function inertProse(text: string, imageHosts: ImageHosts): string {
  const tagless = withoutTags(nearDestinations(withoutEntities(text)))
  return withoutComment(withoutReferences(withoutImages(tagless, imageHosts)))
}

/** Mentions and references only: for a text that is inert but for what was code until now. */
export function withoutReferences(text: string): string {
  return text
    .split(writtenUrl)
    .map((part, at, parts) =>
      at % 2 === 1 ? inertUrl(part, parts[at - 1] || (parts[at - 2] ?? '')) : inertWords(part),
    )
    .join('')
}

/** No HTML comment can begin, and so no marker. Right in code as well. */
export function withoutComment(text: string): string {
  return text.replaceAll('<!--', `<${zeroWidth}!--`)
}

/** Marks of quotations, lists and footnotes: a block may begin behind them. */
const beforeWords = /^(?:[\s\d>*+.)-]|\[\^[^\]\s]*\]:)*/
const tagStart = /<(?=[A-Za-z/!?])(?!https?:\/\/[^\s<>]*>)/g

/** No HTML, but for breaks inside a line: on a line of its own one would begin a block of HTML. */
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
 * GitHub looks for mentions and references in the text as it is shown, so entities count. What
 * means nothing in Markdown is written as it is; what may mean something, with an escape, which
 * reads as the entity did. The others can spell nothing that acts.
 */
function withoutEntities(text: string): string {
  return text.replaceAll(escapeOrEntity, (written) => {
    // Behind an escape it is no entity.
    if (written.startsWith('\\')) return written
    const character = entityText(written) ?? ''
    if (/^[A-Za-z0-9@#/]$/.test(character)) return character
    return /^[-.:]$/.test(character) ? `\\${character}` : written
  })
}

/**
 * Where a link or a definition leads has to stand right behind it: blanks that are too many, or the
 * end of a line, would come between it and whoever looks at it.
 */
function nearDestinations(text: string): string {
  return text.replaceAll(/(\][(:])[ \t]{2,}/g, '$1 ').replace(/\](?=[(:] ?<?$)/, `]${zeroWidth}`)
}

/**
 * The text of an image that is kept has nothing in which some reader could find its end elsewhere:
 * no escape, code, tag, cell, mathematics or address.
 */
const imageText = '[^[\\]\\\\`<>|$@]*'
const inlineImage = new RegExp(
  String.raw`!\[(${imageText})\]\((${absoluteUrl})( +"[^"\\\`<>|$]*")?\)|(?<!!)!+(?=\[)`,
  'gi',
)

/** An image of a host that is not allowed, or not certainly, is a link or a text. */
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

/** With an account or a port it is another host than the one that was allowed. */
function isOf(hosts: ImageHosts, { host, username, password }: URL): boolean {
  return hosts.has(host) && username === '' && password === ''
}

const botWord = String.raw`(?:bors|homu|mergify|jenkins|recheck|retest)\b|r[+=-]`
/** Any blank, because bots take them off before they read. */
const blanks = String.raw`[\s\p{Default_Ignorable_Code_Point}]*`
const commandStart = new RegExp(
  String.raw`^${blanks}(?:/(?=[A-Za-z])|@?(?=${botWord})[A-Za-z])`,
  'iu',
)

/**
 * Other bots obey a line that begins with `/approve` or `bors r+`, and read the text as it was
 * sent, so code is no protection.
 */
export function withoutCommand(line: string): string {
  return line.replace(commandStart, `$&${zeroWidth}`)
}
