/**
 * A piece of Markdown prose from outside, made unable to act: it sets no HTML, notifies nobody,
 * refers to no issue, loads no image and commands no bot. What would act is split by a character
 * that is not seen, so that it reads as it was written.
 *
 * What must hold: the time taken grows with the text, not with its square. So no pattern here can
 * be tried from many places over the same stretch of text.
 */
import { zeroWidth } from './fences.ts'

/** Hosts whose images are shown; everybody else's become links, because showing one calls home. */
export type ImageHosts = ReadonlySet<string>
export const noImages: ImageHosts = new Set()

const inUrl = /(https?:\/\/[^\s<>]+)/i

export function inertProse(text: string, imageHosts: ImageHosts): string {
  return withoutComment(withoutReferences(withoutImages(withoutTags(text), imageHosts)))
}

/** Mentions and references only: for a text that is inert but for what was code until now. */
export function withoutReferences(text: string): string {
  return withoutEntities(text)
    .split(inUrl)
    .map((part, at) => (at % 2 === 1 ? inertUrl(part) : inertWords(part)))
    .join('')
}

/** No HTML comment can begin, and so no marker. Right in code as well. */
export function withoutComment(text: string): string {
  return text.replaceAll('<!--', `<${zeroWidth}!--`)
}

const tagStart = /<(?=[A-Za-z/!?])(?!https?:\/\/[^\s<>]*>)/g

/** No HTML, but for breaks inside a line: on a line of its own one would begin a block of HTML. */
function withoutTags(text: string): string {
  const firstWord = text.search(/[^\s\d>*+.)-]/)
  return text
    .replaceAll(tagStart, (start, at: number) => {
      const isBreak = /^<br ?\/?>/i.test(text.slice(at, at + 6))
      return isBreak && firstWord < at ? start : start + zeroWidth
    })
    .replaceAll('-->', `--${zeroWidth}>`)
}

const entity = /&(?:#0*(\d{1,7})|#x0*([0-9a-f]{1,6})|(commat|num|sol));/gi
const named: Readonly<Record<string, string>> = { commat: '@', num: '#', sol: '/' }

/** GitHub looks for mentions and references in the text as it is shown, so entities count. */
function withoutEntities(text: string): string {
  return text.replaceAll(entity, (written, decimal?: string, hex?: string, name?: string) => {
    const code = decimal === undefined ? Number.parseInt(hex ?? '0', 16) : Number(decimal)
    const character = named[name?.toLowerCase() ?? ''] ?? String.fromCharCode(code)
    return code < 0x80 && /[A-Za-z0-9@#/]/.test(character) ? character : written
  })
}

const inlineImage = /!\[[^[\]]*\]\((https?:\/\/[^\s()<>]+)(?: +"[^"]*")?\)|(?<!!)!+(?=\[)/gi

function withoutImages(text: string, hosts: ImageHosts): string {
  return text.replaceAll(inlineImage, (image, url?: string) => {
    if (url === undefined) return ''
    return hosts.has(URL.parse(url)?.hostname ?? '') ? image : image.slice(1)
  })
}

/** After a letter or digit it is an address, not a mention. */
const mentionStart = /(?<![A-Za-z0-9])@(?=[^\s\u200b])/g
const referenceStart = /(?<!&)#(?=\d)|\bGH-(?=\d)/gi

function inertWords(text: string): string {
  return text.replaceAll(mentionStart, `@${zeroWidth}`).replaceAll(referenceStart, `$&${zeroWidth}`)
}

const ofThread =
  /^https?:\/\/(?:www\.)?github\.com(?=\/[^/]+\/[^/]+\/(?:issues|pull|discussions)\/)/i

/**
 * The address of an issue would leave a note on that issue; GitHub's own redirecting host leads to
 * the same page and leaves none.
 */
function inertUrl(url: string): string {
  return url.replaceAll(mentionStart, '%40').replace(ofThread, 'https://redirect.github.com')
}

const botWord = String.raw`(?:bors|homu|mergify|jenkins|recheck|retest)\b|r[+=-]`
const commandStart = new RegExp(String.raw`^[ \t]*(?:/(?=[A-Za-z])|@?(?=${botWord})[A-Za-z])`, 'i')

/**
 * Other bots obey a line that begins with `/approve` or `bors r+`, and read the text as it was
 * sent, so code is no protection.
 */
export function withoutCommand(line: string): string {
  return line.replace(commandStart, `$&${zeroWidth}`)
}
