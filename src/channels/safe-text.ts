/**
 * Text from outside (a model, a worker, a person) made fit for a comment of ours.
 *
 * What must hold, whatever it says: it carries no HTML comment and so no marker, notifies nobody,
 * refers to nothing, loads no foreign image, commands no bot, opens or closes no fold or block
 * beyond its own end, and shows no secret that can be recognised by its form. Where it is certainly
 * code it stays as written; elsewhere what would act is split by a character that is not seen,
 * because that is right in code and in prose alike.
 *
 * It is as quick for a hostile text as for any other of its length.
 */
import { hideSecrets } from '../hide-secrets.ts'
import { withoutInvisible } from '../invisible-text.ts'
import { wholeUpTo } from './cut-body.ts'
import { linesWithCode, isBlank, zeroWidth, type Line } from './code-blocks.ts'
import type { ImageHosts } from './inert-prose.ts'
import { inertProse, noImages, withoutCommand, withoutComment } from './inert-prose.ts'
import { referenceStart } from './inert-words.ts'

function plain(text: string): string {
  const lined = text.toWellFormed().replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
  return hideSecrets(withoutInvisible(lined))
}

/** Keeps Markdown: lists, tables, links, code, `<details>`. */
export function safeText(text: string, imageHosts = noImages): string {
  const written = plain(text)
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd()
  const tamed = new TamedText(imageHosts)
  for (const line of linesWithCode(written)) tamed.add(line)
  return tamed.end()
}

class TamedText {
  readonly #imageHosts: ImageHosts
  readonly #lines: string[] = []
  #folds = 0
  /** Raw HTML lasts until the next empty line: nothing else may stand in it. */
  #needsGap = false
  /** In this paragraph a pair of backticks on one line is code for every reader. */
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

  /** The line as one that opens, names or closes a fold; null when it is none of ours to keep. */
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
    // One backtick alone, or two that stand together, pair up with others further on.
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

const title = (name: string): string =>
  `<summary>(?<${name}>(?:(?!</?(?:summary|details)).)*)</summary>`
const opens = `(?<open><details(?: open)?>)(?: *${title('inner')})?`
const foldLine = new RegExp(`^ {0,3}(?:${opens}|${title('alone')}|(?<close></details>))$`)
/** Titles of folds have these for looks. */
const boldTag = /<\/?(?:b|strong|i|em|code)>/g

/** What takes a backtick away from its pair: escapes, tags, links, tables, mathematics. */
const misreadable = /[\\<>[\]|$&]|:\/\/|www\./i

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
    .replaceAll(referenceStart, `$&${zeroWidth}`)
}

function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, wholeUpTo(text, max - 1)).trimEnd()}…`
}
