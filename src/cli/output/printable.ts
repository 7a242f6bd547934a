/**
 * Makes text from outside safe to print. Others choose the names of repositories, branches and
 * workers. Such a name must not control the terminal, and a row must stay one row.
 */

// Control characters; marks that change the direction of text; separators that break lines.
const unsafe = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu
const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** One line; everything that could move the cursor is written out. */
export function printable(text: string): string {
  return text.toWellFormed().replace(unsafe, writeOut)
}

/** Text for people: line breaks stay, a tab becomes blanks, all else as in `printable`. */
export function printableLines(text: string): readonly string[] {
  return text
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => printable(line.replaceAll('\t', '  ')))
}

function writeOut(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  return shortEscapes[character] ?? (code < 256 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex}`)
}
