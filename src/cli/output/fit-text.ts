/**
 * Fits text for people into the width of a terminal. Lines are broken between words, and what
 * follows is indented like the text before it. A command stays on one line, even if it is too long,
 * so that a person can copy it. Without a width, for a file or a pipe, the text stays as it is.
 */
import type { Terminal } from '../terminal.ts'
import { textWidth, wrap } from './text-width.ts'

/** Prints a sentence for people on standard output. */
export function printText(terminal: Pick<Terminal, 'out' | 'columns'>, text: string): void {
  terminal.out(fitText(text, terminal.columns))
}

/** The same on standard error, for what is not the answer. Log lines are printed as they are. */
export function printNote(terminal: Pick<Terminal, 'err' | 'errColumns'>, text: string): void {
  terminal.err(fitText(text, terminal.errColumns))
}

export function fitText(text: string, columns: number | null): string {
  if (columns === null) return text
  return text
    .split('\n')
    .flatMap((line) => fitLine(line, columns))
    .join('\n')
}

/** What a line begins with: its indent, and a dash or the first column of a table. */
const beginning = /^ *(?:- |(?<=^ {2,})\S.*? {2,}(?=\S))?/
/** A line of an example: a command, perhaps with variables before it. */
const commandLine = /^ *(?:[A-Z_]+=\S+ )*holdfast /
/** If the second column would be narrower, it is below the first one. */
const roomMin = 16
const indentBelow = '    '

function fitLine(line: string, columns: number): readonly string[] {
  if (textWidth(line) <= columns) return [line]
  const begin = beginning.exec(line)?.[0] ?? ''
  const text = line.slice(begin.length)
  if (commandLine.test(line) && begin.trim() === '') return [line]
  const hasColumn = begin.trim().length > 1
  if (hasColumn && columns - begin.length < roomMin) {
    return [begin.trimEnd(), ...indented(wrapMessage(text, columns - 4), indentBelow)]
  }
  const [first = '', ...others] = wrapMessage(text, columns - begin.length)
  return [`${begin}${first}`, ...indented(others, ' '.repeat(begin.length))]
}

function indented(lines: readonly string[], indent: string): readonly string[] {
  return lines.map((line) => `${indent}${line}`)
}

/** In our messages a command is after "Run:", or after a colon, a quote or a parenthesis. */
const commands =
  /(?<=Run: )\S.*?(?=\. |$)|(?<=: |"|\()(?:holdfast|chmod|pg_dump) .+?(?=["),;]|\. |$)/g
const unbroken = '\u00a0'

/** Wraps a message of ours. A command in it stays on one line. */
export function wrapMessage(message: string, width: number): readonly string[] {
  const text = message.replace(commands, (command) => command.replaceAll(' ', unbroken))
  return wrap(text, width).map((line) => line.replaceAll(unbroken, ' '))
}
