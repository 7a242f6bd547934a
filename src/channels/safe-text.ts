/**
 * Text from outside (a model, a worker, a person) made fit for a comment of ours.
 *
 * What must hold, whatever it says: it carries no HTML comment and so no marker, mentions nobody,
 * opens or closes no fold or block beyond its own end, and shows no secret that can be told by its
 * form. Where it is certainly code it stays as written; elsewhere what would act is held apart by a
 * character that is not seen, because that is right in code and in prose alike.
 */
import { hideSecrets } from '../hide-secrets.ts'
import { fencedLines, zeroWidth, type Line } from './fences.ts'

/** Controls, marks that turn the direction of text, and what is not seen at all. */
const unseen = /(?![\n\t])\p{Cc}|[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu

function plain(text: string): string {
  const lined = text.toWellFormed().replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
  return hideSecrets(lined.replaceAll(unseen, ''))
}

/** Keeps Markdown: lists, tables, links, code, `<details>`. */
export function safeText(text: string): string {
  const written = plain(text)
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd()
  const tamed = new TamedText()
  for (const line of fencedLines(written)) tamed.add(line)
  return tamed.end()
}

class TamedText {
  readonly #lines: string[] = []
  #folds = 0
  /** Raw HTML lasts until the next empty line: nothing else may stand in it. */
  #needsGap = false
  /** In this paragraph a pair of backticks on one line is code for every reader. */
  #pairsAreCode = true

  add({ text, kind }: Line): void {
    if (this.#needsGap && text.trim() !== '') this.#lines.push('')
    this.#needsGap = false
    if (kind !== 'text') {
      this.#pairsAreCode = true
      this.#lines.push(withoutComment(text))
      return
    }
    const fold = this.#fold(text)
    this.#needsGap = fold !== null
    this.#lines.push(fold ?? this.#prose(text))
  }

  end(): string {
    const closings = '\n\n</details>'.repeat(this.#folds)
    return this.#lines.join('\n') + closings
  }

  /** The line as one that opens, names or closes a fold; null when it is none of ours to keep. */
  #fold(text: string): string | null {
    const found = foldLine.exec(text)
    if (found === null || text.trim() === '') return null
    const { open = '', named, close } = found.groups ?? {}
    const folds = this.#folds + (open === '' ? 0 : 1) - (close === undefined ? 0 : 1)
    if (folds < 0 || (named !== undefined && folds === 0)) return null
    this.#folds = folds
    if (close !== undefined) return close
    return named === undefined
      ? open
      : `${open}<summary>${tame(named.replaceAll(boldTag, ''))}</summary>`
  }

  #prose(text: string): string {
    if (text.trim() === '') this.#pairsAreCode = true
    else if (misreadable.test(text)) this.#pairsAreCode = false
    const parts = text.split('`')
    // One backtick alone, or two that stand together, pair up with others further on.
    const paired = parts.length % 2 === 1 && !text.includes('``')
    if (!paired) this.#pairsAreCode = false
    if (!this.#pairsAreCode) return tame(text)
    return parts.map((part, at) => (at % 2 === 1 ? withoutComment(part) : tame(part))).join('`')
  }
}

const opens = '(?<open><details(?: open)?>)?'
const names = '(?:<summary>(?<named>(?:(?!</?(?:summary|details)).)*)</summary>)?'
const foldLine = new RegExp(`^ {0,3}(?:${opens} *${names}|(?<close></details>)) *$`)
/** Titles of folds have these for looks. */
const boldTag = /<\/?(?:b|strong|i|em|code)>/g

/** What takes a backtick away from its pair: escapes, tags, links, tables, mathematics. */
const misreadable = /[\\<>[\]|$&]|:\/\/|www\./i

function tame(text: string): string {
  return withoutComment(withoutMentions(withoutTags(text)))
}

function withoutComment(text: string): string {
  return text.replaceAll('<!--', `<${zeroWidth}!--`)
}

const tagStart = /<(?=[A-Za-z/!?])(?!https?:\/\/[^\s<>]*>)/g

/** No HTML, but for breaks inside a line: on a line of its own one would begin a block of HTML. */
function withoutTags(text: string): string {
  return text
    .replaceAll(tagStart, (start, at: number) => {
      const isBreak = /^<br ?\/?>/i.test(text.slice(at, at + 6))
      return isBreak && /[^\s\d>*+.)-]/.test(text.slice(0, at)) ? start : start + zeroWidth
    })
    .replaceAll('-->', `--${zeroWidth}>`)
}

const writtenOtherwise = /&(?:#0*64|#x0*40|commat);/gi
/** After a letter or digit it is an address, not a mention. */
const mentionStart = /(?<![A-Za-z0-9])@(?=[^\s\u200b])/g

function withoutMentions(text: string): string {
  return text
    .replaceAll(writtenOtherwise, '@')
    .replaceAll(/https?:\/\/[^\s<>]+/gi, (url) => url.replaceAll(mentionStart, '%40'))
    .replaceAll(mentionStart, `@${zeroWidth}`)
}

const lineMax = 300

/** One line, shown as it was written: no Markdown, no link, no reference. */
export function safeLine(text: string, max = lineMax): string {
  const line = shorten(plain(text).replaceAll(/\s+/g, ' ').trim(), max)
  return line
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/[\\`*[\]|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, '\\$&')
    .replace(/^(\d{0,9})([.)#+=-])/, '$1\\$2')
    .replaceAll('://', `:${zeroWidth}//`)
    .replaceAll(/\bwww\./gi, `$&${zeroWidth}`)
    .replaceAll(/@(?=\S)/g, `@${zeroWidth}`)
    .replaceAll(/#(?=\d)|\bGH-(?=\d)/gi, `$&${zeroWidth}`)
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, wholeUpTo(text, max - 1)).trimEnd()}…`
}

/** The last place not after `at` where no character that people see as one is cut through. */
function wholeUpTo(text: string, at: number): number {
  const near = text.slice(0, at + 100)
  return graphemes.segment(near).containing(at)?.index ?? at
}

/** How far back a cut looks for the end of a line; a longer last line is cut in itself. */
const lineSearch = 2000

/**
 * Cuts Markdown to at most `max` UTF-16 units and says so in `note`; closes what the cut left open.
 */
export function cutBody(
  text: string,
  max: number,
  note = '_Shortened: the rest did not fit._',
): string {
  if (text.length <= max) return text
  let room = max - note.length - 2
  while (room > 0) {
    const body = `${closed(text.slice(0, cutAt(text, room)))}\n\n${note}`
    if (body.length <= max) return body
    room -= body.length - max
  }
  return note.slice(0, Math.max(0, max))
}

function cutAt(text: string, room: number): number {
  const lineEnd = text.lastIndexOf('\n', room)
  if (lineEnd > room - Math.min(lineSearch, room / 4)) return lineEnd
  // Half a tag would swallow what follows.
  const isTag = /^ {0,3}</.test(text.slice(lineEnd + 1, lineEnd + 5))
  return isTag ? Math.max(lineEnd, 0) : wholeUpTo(text, room)
}

function closed(text: string): string {
  const lines = fencedLines(text.trimEnd())
  const folds = lines.reduce(
    (open, line) => open + (line.kind === 'text' ? foldsBy(line.text) : 0),
    0,
  )
  const last = lines.length - 1
  const told = lines.map((line, at) =>
    // A pair of backticks may have lost its second one, and what was code is prose now.
    at === last && line.kind === 'text' ? withoutMentions(line.text) : line.text,
  )
  return told.join('\n') + '\n\n</details>'.repeat(Math.max(0, folds))
}

function foldsBy(line: string): number {
  if (/^ {0,3}<details[ >]/.test(line)) return 1
  return /^ {0,3}<\/details>/.test(line) ? -1 : 0
}
