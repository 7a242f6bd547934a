/**
 * Makes text from outside (of a model, a worker, a person) safe to publish in a comment.
 *
 * What must hold for every text:
 *   - It contains no HTML comment, and so no marker.
 *   - It notifies nobody, refers to nothing, loads no foreign image and commands no bot.
 *   - Every fold or block that it opens ends with it.
 *   - It shows no secret that can be recognised by its form.
 *   - A hostile text takes no longer than any other text of its length.
 *
 * Certain code stays as it is written. Elsewhere an invisible character is put into what would have
 * an effect, because that works in code and in prose.
 */
import { hideSecrets } from '../../texts/hide-secrets.ts'
import { withoutInvisible } from '../../texts/invisible-text.ts'
import { wholeUpTo } from './cut-body.ts'
import { linesWithCode, isBlank, zeroWidth, type Line } from './code-blocks.ts'
import type { ImageHosts } from './inert-prose.ts'
import { inertProse, noImages, withoutCommand, withoutComment } from './inert-prose.ts'
import { referenceStart } from './inert-url.ts'

function plain(text: string): string {
  const lined = text.toWellFormed().replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
  return hideSecrets(withoutInvisible(lined))
}

/** Keeps Markdown: lists, tables, links, code, `<details>`. */
export function safeText(text: string, imageHosts = noImages): string {
  const written = plain(text)
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd()
  const safe = new SafeLines(imageHosts)
  for (const line of linesWithCode(written)) safe.add(line)
  return safe.end()
}

class SafeLines {
  readonly #imageHosts: ImageHosts
  readonly #lines: string[] = []
  #folds = 0
  /** Raw HTML lasts until the next empty line, so an empty line has to follow it. */
  #needsGap = false
  /** In this paragraph, every parser reads a pair of backticks on one line as code. */
  #pairsAreCode = true

  constructor(imageHosts: ImageHosts) {
    this.#imageHosts = imageHosts
  }

  add({ text, kind }: Line): void {
    if (this.#needsGap && !isBlank(text)) this.#lines.push('')
    this.#needsGap = false
    if (kind !== 'text') {
      this.#pairsAreCode = true
      this.#lines.push(withoutCommand(withoutComment(text)))
      return
    }
    const fold = this.#fold(text)
    this.#needsGap = fold !== null
    this.#lines.push(fold ?? withoutCommand(this.#prose(text)))
  }

  end(): string {
    const closings = '\n\n</details>'.repeat(this.#folds)
    return this.#lines.join('\n') + closings
  }

  /** The line if it opens, names or closes a fold that is kept; otherwise null. */
  #fold(text: string): string | null {
    const found = foldLine.exec(text.trimEnd())
    if (found === null) return null
    const { open = '', inner, alone, close } = found.groups ?? {}
    const named = inner ?? alone
    const folds = this.#folds + (open === '' ? 0 : 1) - (close === undefined ? 0 : 1)
    if (folds < 0 || (named !== undefined && folds === 0)) return null
    this.#folds = folds
    if (close !== undefined) return close
    return named === undefined
      ? open
      : `${open}<summary>${this.#inert(named.replaceAll(boldTag, ''))}</summary>`
  }

  #prose(text: string): string {
    if (isBlank(text)) this.#pairsAreCode = true
    else if (misreadable.test(text)) this.#pairsAreCode = false
    const parts = text.split('`')
    // A single backtick, or two next to each other, form a pair with later ones.
    const paired = parts.length % 2 === 1 && !text.includes('``')
    if (!paired) this.#pairsAreCode = false
    if (!this.#pairsAreCode) return this.#inert(text)
    return parts
      .map((part, at) => (at % 2 === 1 ? withoutComment(part) : this.#inert(part)))
      .join('`')
  }

  #inert(text: string): string {
    return inertProse(text, this.#imageHosts)
  }
}

const foldTitle = (name: string): string =>
  `<summary>(?<${name}>(?:(?!</?(?:summary|details)).)*)</summary>`
const opens = `(?<open><details(?: open)?>)(?: *${foldTitle('inner')})?`
const foldLine = new RegExp(`^ {0,3}(?:${opens}|${foldTitle('alone')}|(?<close></details>))$`)
/** Tags that only style the title of a fold. */
const boldTag = /<\/?(?:b|strong|i|em|code)>/g

/** What can separate a backtick from its pair: escapes, tags, links, tables, mathematics. */
const misreadable = /[\\<>[\]|$&]|:\/\/|www\./i

const lineMax = 300

/** One line that shows the text as it was written, without Markdown, links or references. */
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
    .replaceAll(referenceStart, `$&${zeroWidth}`)
}

function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, wholeUpTo(text, max - 1)).trimEnd()}…`
}
