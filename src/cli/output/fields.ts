/**
 * Prints one item in detail, with the field names of JSON. On a terminal: a heading that says in
 * words what it is and its state, then names and values without empty ones. Otherwise: one line per
 * field, also for an empty one, with its name, a tab and its value.
 */
import type { Terminal } from '../terminal.ts'
import { paintFor, type Style } from './paint.ts'
import { printable, printableLines } from './printable.ts'
import { plainText, type Scalar } from './table.ts'
import { padTo, textWidth, wrap } from './text-width.ts'

export interface Field {
  readonly name: string
  readonly value: Scalar
  /** What a terminal shows instead of the value; null leaves the field out. */
  readonly onScreen?: string | null
  readonly style?: Style | null
}

export function printFields(terminal: Terminal, fields: readonly Field[]): void {
  if (terminal.columns === null) {
    const lines = fields.map(({ name, value }) => `${name}\t${plainText(value)}`)
    terminal.out(`${lines.join('\n')}\n`)
    return
  }
  const paint = paintFor(terminal.colour)
  const visible = fields.flatMap((field) => {
    const text = field.onScreen === undefined ? field.value : field.onScreen
    return text === null || text === '' ? [] : [{ ...field, text: String(text) }]
  })
  const width = Math.max(0, ...visible.map(({ name }) => textWidth(name)))
  const room = terminal.columns - width - 2
  for (const { name, text, style } of visible) {
    const lines = printableLines(text).flatMap((line) => wrap(line, Math.max(30, room)))
    // A word that does not fit beside its name gets its own line, so that it can be copied whole.
    const fits = lines.every((line) => textWidth(line) <= room)
    if (!fits) terminal.out(`${paint(name, 'dim')}\n`)
    lines.forEach((line, at) => {
      const left = fits ? `${padTo(at === 0 ? name : '', width)}  ` : '  '
      terminal.out(`${paint(left, 'dim')}${paint(line, style ?? null)}`.trimEnd() + '\n')
    })
  }
}

export interface Heading {
  readonly title: string
  /** The state, in sentences. */
  readonly state: string
  readonly style: Style | null
  /** What a person can do about it. */
  readonly remedy?: string | null
}

/** Prints nothing if the output is not a terminal. */
export function printHeading(terminal: Terminal, { title, state, style, remedy }: Heading): void {
  const { columns } = terminal
  if (columns === null) return
  const paint = paintFor(terminal.colour)
  const lines = (text: string, of: Style | null): string =>
    wrap(printable(text), columns)
      .map((line) => `${paint(line, of)}\n`)
      .join('')
  terminal.out(lines(title, 'bold'))
  terminal.out(lines(state, style))
  if (remedy !== undefined && remedy !== null) terminal.out(lines(remedy, 'cyan'))
  terminal.out('\n')
}

const bar = '│ '

/** Prints text that others wrote, with a bar before each line. */
export function printQuoted(terminal: Terminal, lines: readonly string[]): void {
  const paint = paintFor(terminal.colour)
  for (const line of lines) terminal.out(`${paint(bar, 'dim')}${line}`.trimEnd() + '\n')
}

export const quotedWidth = (columns: number): number => Math.max(20, columns - bar.length)
