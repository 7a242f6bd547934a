/**
 * One thing in detail. On a terminal: labels and values, without what is empty. Elsewhere: a line
 * per field, its name as in JSON, a tab and its value, empty ones too.
 */
import type { Terminal } from '../terminal.ts'
import { paintFor, type Style } from './paint.ts'
import { printableLines } from './printable.ts'
import { plainText, type Scalar } from './table.ts'
import { padTo, textWidth, wrap } from './text-width.ts'

export interface Field {
  readonly name: string
  readonly value: Scalar
  /** For people, where it is not the value itself; null leaves it out. */
  readonly shown?: string | null
  readonly style?: Style | null
}

export function printFields(terminal: Terminal, fields: readonly Field[]): void {
  if (terminal.columns === null) {
    const lines = fields.map(({ name, value }) => `${name}\t${plainText(value)}`)
    terminal.out(`${lines.join('\n')}\n`)
    return
  }
  const paint = paintFor(terminal.colour)
  const told = fields.flatMap((field) => {
    const text = field.shown === undefined ? field.value : field.shown
    return text === null || text === '' ? [] : [{ ...field, text: String(text) }]
  })
  const label = (name: string): string => name.replaceAll('_', ' ')
  const width = Math.max(0, ...told.map(({ name }) => textWidth(label(name))))
  const room = Math.max(30, terminal.columns - width - 2)
  for (const { name, text, style } of told) {
    const lines = printableLines(text).flatMap((line) => wrap(line, room))
    lines.forEach((line, at) => {
      const left = padTo(at === 0 ? label(name) : '', width)
      terminal.out(`${paint(left, 'dim')}  ${paint(line, style ?? null)}`.trimEnd() + '\n')
    })
  }
}
