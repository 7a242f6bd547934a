/**
 * Markdown cut to a length, with nothing left open.
 *
 * What must hold: the result is never longer than asked for; no character that people see as one is
 * cut through; each try cuts further than the one before, so their number is bounded.
 */
import { linesWithCode } from './code-blocks.ts'
import { withoutReferences } from './inert-prose.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The last place not after `at` where no character that people see as one is cut through. */
export function wholeUpTo(text: string, at: number): number {
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
    const cut = cutAt(text, room)
    const body = `${closed(text.slice(0, cut))}\n\n${note}`
    if (body.length <= max) return body
    // What closes the open parts takes room too, and at most as much as there was too much.
    room = cut - (body.length - max)
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
  const lines = linesWithCode(text.trimEnd())
  const folds = lines.reduce(
    (open, line) => open + (line.kind === 'text' ? foldsBy(line.text) : 0),
    0,
  )
  const last = lines.length - 1
  const told = lines.map((line, at) =>
    // A pair of backticks may have lost its second one, and what was code is prose now.
    at === last && line.kind === 'text' ? withoutReferences(line.text) : line.text,
  )
  return told.join('\n') + '\n\n</details>'.repeat(Math.max(0, folds))
}

function foldsBy(line: string): number {
  if (/^ {0,3}<details[ >]/.test(line)) return 1
  return /^ {0,3}<\/details>/.test(line) ? -1 : 0
}
