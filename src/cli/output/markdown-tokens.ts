/**
 * Parses Markdown with `marked`, within bounds. Anybody may have written the text, and some of
 * marked's rules need time that grows with the square of a text, or a stack as deep as its nesting.
 * So each part has a limit. A part beyond its limit becomes one `plain` token; the others are
 * parsed.
 */
import { getDefaults, Lexer, Tokenizer, type Token, type Tokens, type TokensList } from 'marked'

/** How deep quotations and lists may be nested. */
export const depthMax = 16
/** The length of one paragraph, heading or cell, in characters. */
export const inlineLengthMax = 8000
/** How many characters marked may read for one of them. It reads many of them again and again. */
const inlineReadMax = 400_000
/** How many characters of quotations and lists marked may parse, per character of the text. */
const nestedReadsMax = 2 * depthMax
/** How often a quotation may go on after a line without its mark: marked then starts over. */
const resumedMax = 50
/** marked makes every row of a table as wide as its first one. */
const cellsMax = 50_000

/** A part that is shown as it was written. */
export interface PlainToken extends Tokens.Generic {
  readonly type: 'plain'
  readonly raw: string
}

const plainToken = (raw: string): PlainToken => ({ type: 'plain', raw })

const withoutMarks = (quotation: string): string => quotation.replaceAll(/^ {0,3}> ?/gm, '')

export function markdownTokens(markdown: string): readonly Token[] {
  try {
    return new BoundedLexer(markdown.length).lex(markdown)
  } catch {
    // Too many reads, or a fault in marked. Neither may hide the text.
    return [plainToken(markdown)]
  }
}

class BoundedLexer extends Lexer {
  readonly #steps: CountingTokenizer
  #depth = 0
  #inlineDepth = 0

  constructor(length: number) {
    const steps = new CountingTokenizer()
    super({ ...getDefaults(), tokenizer: steps })
    this.#steps = steps
    steps.nestedReadsLeft = nestedReadsMax * length
  }

  override blockTokens(src: string, tokens?: Token[], clipped?: boolean): Token[]
  override blockTokens(src: string, tokens?: TokensList, clipped?: boolean): TokensList
  override blockTokens(src: string, tokens: Token[] = [], clipped = false): Token[] {
    if (this.#depth >= depthMax) {
      tokens.push(plainToken(src))
      this.state.top = true
      return tokens
    }
    this.#depth += 1
    super.blockTokens(src, tokens, clipped)
    this.#depth -= 1
    return tokens
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (this.#inlineDepth > 0) return this.#nested(src, tokens)
    this.#steps.readsLeft = inlineReadMax
    if (src.length <= inlineLengthMax) this.#nested(src, tokens)
    if (src.length > inlineLengthMax || this.#steps.readsLeft < 0)
      tokens.splice(0, tokens.length, plainToken(src))
    return tokens
  }

  #nested(src: string, tokens: Token[]): Token[] {
    this.#inlineDepth += 1
    super.inlineTokens(src, tokens)
    this.#inlineDepth -= 1
    return tokens
  }
}

class CountingTokenizer extends Tokenizer {
  readsLeft = 0
  nestedReadsLeft = 0

  override blockquote(src: string): Tokens.Blockquote | undefined {
    const [raw = ''] = this.rules.block.blockquote.exec(src) ?? []
    if ((raw.match(/\n {0,3}[^\s>].*\n {0,3}>/g) ?? []).length > resumedMax) {
      const text = raw.trimEnd()
      return { type: 'blockquote', raw: text, text, tokens: [plainToken(withoutMarks(text))] }
    }
    return this.#counted(super.blockquote(src))
  }

  override list(src: string): Tokens.List | undefined {
    return this.#counted(super.list(src))
  }

  /** marked parses a quotation again for each line after it that may belong to it. */
  #counted<T extends Token>(token: T | undefined): T | undefined {
    this.nestedReadsLeft -= token?.raw.length ?? 0
    if (this.nestedReadsLeft < 0) throw new Error('This Markdown needs too many reads.')
    return token
  }

  /** marked calls this first in each step, with all that is left of the text. */
  override escape(src: string): Tokens.Escape | undefined {
    this.readsLeft -= src.length
    if (this.readsLeft < 0) return { type: 'escape', raw: src, text: src }
    return super.escape(src)
  }

  override table(src: string): Tokens.Table | undefined {
    const [first = ''] = src.split('\n', 1)
    const columns = first.split('|').length
    if (columns === 1) return undefined
    const end = src.indexOf('\n\n')
    const rows = src.slice(0, end === -1 ? src.length : end).split('\n').length
    return columns * rows > cellsMax ? undefined : super.table(src)
  }
}
