/**
 * Text from outside, made safe to print. What a repository, a branch or a worker is called was
 * chosen by somebody else: a terminal must not obey it, and a row must stay one row.
 */

// Control characters; marks that change the direction of text; separators that break lines.
const unsafe = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu
const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** One line; everything that could move the cursor is written out. */
export function printable(text: string): string {
  return text.toWellFormed().replace(unsafe, writtenOut)
}

/** Text for people: its line breaks stay, nothing else does. */
export function printableLines(text: string): readonly string[] {
  return text
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => printable(line.replaceAll('\t', '  ')))
}

function writtenOut(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  return named[character] ?? (code < 256 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex}`)
}
