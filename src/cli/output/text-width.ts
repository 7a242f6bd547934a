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

/** Breaks at blanks; a word longer than a line stays whole, so that it can be copied. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && textWidth(longer) > width) {
      lines.push(line)
      line = word
    } else {
      line = longer
    }
  }
  return [...lines, line]
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
