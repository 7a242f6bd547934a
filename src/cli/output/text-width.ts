/** How many columns a text takes on a terminal, and cutting it to fewer. */

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const wideScript = /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]/u
const wideSign = /[\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]|\ufe0f/u
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]*$/u
const plain = /^[\x20-\x7e]*$/

export function textWidth(text: string): number {
  if (plain.test(text)) return text.length
  return partsOf(text).reduce((sum, { width }) => sum + width, 0)
}

/** At most `width` columns; what is cut from the end is shown as one `…`. */
export function cutEnd(text: string, width: number): string {
  return textWidth(text) <= width ? text : `${take(text, width - 1)}…`
}

/** The same from the middle, for names whose end says as much as their beginning. */
export function cutMiddle(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  const head = take(text, Math.ceil((width - 1) / 2))
  const tail = takeBack(text, Math.floor((width - 1) / 2))
  return `${head}…${tail}`
}

export function padTo(text: string, width: number, side: 'left' | 'right' = 'left'): string {
  const gap = ' '.repeat(Math.max(0, width - textWidth(text)))
  return side === 'left' ? text + gap : gap + text
}

/**
 * Breaks at blanks, and between characters of scripts that are written without them; a word longer
 * than a line stays whole, so that it can be copied.
 */
export function wrap(text: string, width: number): readonly string[] {
  const lines = wrapPieces([{ text }], width)
  return lines.map((pieces) => pieces.map((piece) => piece.text).join(''))
}

/** The same for text of several pieces. Each piece keeps its other properties. */
export function wrapPieces<T extends { readonly text: string }>(
  pieces: readonly T[],
  width: number,
): readonly (readonly T[])[] {
  const lines: T[][] = []
  let line: T[] = []
  let used = 0
  let blank = ''
  for (const unit of unitsOf(pieces)) {
    const length = unit.reduce((sum, { text }) => sum + textWidth(text), 0)
    if (length === 0) continue
    const isBlank = unit.every(({ text }) => text === ' ')
    if (isBlank) {
      blank = used === 0 ? '' : ' '
      continue
    }
    if (used > 0 && used + blank.length + length > width) {
      lines.push(line)
      ;[line, used, blank] = [[], 0, '']
    }
    const [first, ...others] = unit
    if (first !== undefined) line.push({ ...first, text: `${blank}${first.text}` }, ...others)
    used += blank.length + length
    blank = ''
  }
  return [...lines, line]
}

/** Blanks and words. A word stays on one line, even if it consists of several pieces. */
function unitsOf<T extends { readonly text: string }>(pieces: readonly T[]): readonly T[][] {
  const units: T[][] = []
  let joins = false
  for (const piece of pieces) {
    for (const word of piece.text.split(/( )/)) {
      if (word === '') continue
      if (word === ' ') units.push([{ ...piece, text: ' ' }])
      else {
        const [first = '', ...others] = breakable(word)
        const before = joins ? units.pop() : undefined
        units.push([...(before ?? []), { ...piece, text: first }])
        for (const other of others) units.push([{ ...piece, text: other }])
      }
      joins = word !== ' '
    }
  }
  return units
}

/** The pieces of a word that a line may be broken between; punctuation stays with what it ends. */
function breakable(word: string): readonly string[] {
  if (!wideScript.test(word)) return [word]
  const pieces: string[] = []
  let wasWide = false
  for (const { text } of partsOf(word)) {
    const isWide = wideScript.test(text)
    if (isWide && wasWide) pieces.push(text)
    else pieces.push(`${pieces.pop() ?? ''}${text}`)
    wasWide = isWide
  }
  return pieces
}

interface Part {
  readonly text: string
  readonly width: number
}

function partsOf(text: string): readonly Part[] {
  return Array.from(graphemes.segment(text), ({ segment }) => ({
    text: segment,
    width: widthOf(segment),
  }))
}

function widthOf(grapheme: string): number {
  if (invisible.test(grapheme)) return 0
  return wideScript.test(grapheme) || wideSign.test(grapheme) ? 2 : 1
}

function take(text: string, width: number): string {
  return fitting(partsOf(text), width).join('')
}

function takeBack(text: string, width: number): string {
  return fitting(partsOf(text).toReversed(), width).toReversed().join('')
}

function fitting(parts: readonly Part[], width: number): string[] {
  const kept: string[] = []
  let used = 0
  for (const part of parts) {
    used += part.width
    if (used > width) break
    kept.push(part.text)
  }
  return kept
}
