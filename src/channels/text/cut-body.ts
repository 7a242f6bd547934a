/**
 * Cuts Markdown to a length and closes every block that the cut left open.
 *
 * What must hold:
 *   - The result is never longer than asked for.
 *   - The cut is never inside a character as people see it.
 *   - Each try cuts further than the one before, so the number of tries is bounded.
 */
import { linesWithCode } from './code-blocks.ts'
import { withoutReferences } from './inert-prose.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The last place, at or before `at`, that is not inside a character as people see it. */
export function wholeUpTo(text: string, at: number): number {
  const near = text.slice(0, at + 100)
  return graphemes.segment(near).containing(at)?.index ?? at
}

/** How far back a cut looks for the end of a line. A longer last line is cut inside. */
const lineSearch = 2000

/** Cuts Markdown to at most `max` UTF-16 units. If it cuts, it adds `note` at the end. */
export function cutBody(
  text: string,
  max: number,
  note = '_Shortened: the rest did not fit._',
): string {
  if (text.length <= max) return text
  let room = max - note.length - 2
  while (room > 0) {
    const cut = cutAt(text, room)
    const body = `${closed(text.slice(0, cut))}\n\n${note}`
    if (body.length <= max) return body
    // What closes the open blocks takes room too. So the next try cuts that much more.
    room = cut - (body.length - max)
  }
  return note.slice(0, Math.max(0, max))
}

function cutAt(text: string, room: number): number {
  const lineEnd = text.lastIndexOf('\n', room)
  if (lineEnd > room - Math.min(lineSearch, room / 4)) return lineEnd
  // Half a tag would hide the text that follows.
  const isTag = /^ {0,3}</.test(text.slice(lineEnd + 1, lineEnd + 5))
  return isTag ? Math.max(lineEnd, 0) : wholeUpTo(text, room)
}

function closed(text: string): string {
  const lines = linesWithCode(text.trimEnd())
  const folds = lines.reduce(
    (open, line) => open + (line.kind === 'text' ? foldsBy(line.text) : 0),
    0,
  )
  const last = lines.length - 1
  const texts = lines.map((line, at) =>
    // The cut may have removed the second backtick of a pair, so code became prose.
    at === last && line.kind === 'text' ? withoutReferences(line.text) : line.text,
  )
  return texts.join('\n') + '\n\n</details>'.repeat(Math.max(0, folds))
}

function foldsBy(line: string): number {
  if (/^ {0,3}<details[ >]/.test(line)) return 1
  return /^ {0,3}<\/details>/.test(line) ? -1 : 0
}
