/**
 * Lists in their two forms. On a terminal: a table that fits its width, with what people look at.
 * Where the width is too small, columns move to a line of their own below the row; none is left
 * out, so that rows can always be told apart. Elsewhere: a header and one row per item, separated
 * by tabs, with full values and exact times; other programs read that, so its columns only ever
 * grow at the end.
 */
import type { Terminal } from '../terminal.ts'
import { paintFor, type Style } from './paint.ts'
import { printable } from './printable.ts'
import { cutEnd, cutMiddle, padTo, textWidth, wrap } from './text-width.ts'

export interface ScreenColumn<T> {
  readonly title: string
  readonly of: (item: T, nowMs: number) => string
  readonly style?: (item: T) => Style | null
  /** How it may be cut when the table is too wide; without it, it never is. */
  readonly cut?: 'middle' | 'end'
  /** What it is cut to at most, as long as another column can still move below the row. */
  readonly least?: number
  /** Where room is short it moves below the row; the highest first. */
  readonly below?: number
  /** Stands before it there, where it has no title. */
  readonly label?: string
  readonly side?: 'right'
}

export interface TableShape<T> {
  readonly screen: readonly ScreenColumn<T>[]
  /** Names as in JSON, in the order they are printed. */
  readonly plain: readonly (readonly [name: string, of: (item: T) => Scalar])[]
}

export type Scalar = string | number | boolean | null

export interface TablePrinter<T> {
  print(items: readonly T[]): void
}

const gap = '  '
const indent = '  '
const leastUsual = 16
const cutWidthMin = 10

export function tablePrinter<T>(
  terminal: Terminal,
  shape: TableShape<T>,
  nowMs: number,
): TablePrinter<T> {
  return terminal.columns === null
    ? plainTable(terminal, shape)
    : screenTable(terminal, terminal.columns, shape, nowMs)
}

function plainTable<T>(terminal: Terminal, { plain }: TableShape<T>): TablePrinter<T> {
  let begun = false
  return {
    print(items) {
      if (!begun) terminal.out(`${plain.map(([name]) => name).join('\t')}\n`)
      begun = true
      const rows = items.map((item) => plain.map(([, of]) => plainText(of(item))).join('\t'))
      if (rows.length > 0) terminal.out(`${rows.join('\n')}\n`)
    },
  }
}

/** Nothing is an empty field. */
export function plainText(value: Scalar): string {
  return value === null ? '' : printable(String(value))
}

interface Laid<T> {
  readonly column: ScreenColumn<T>
  readonly width: number
}

interface Layout<T> {
  /** Side by side on the row's first line. */
  readonly row: readonly Laid<T>[]
  readonly below: readonly ScreenColumn<T>[]
}

function screenTable<T>(
  terminal: Terminal,
  columns: number,
  { screen }: TableShape<T>,
  nowMs: number,
): TablePrinter<T> {
  const paint = paintFor(terminal.colour)
  const cell = (item: T, { of }: ScreenColumn<T>): string => printable(of(item, nowMs))
  let layout: Layout<T> | null = null
  return {
    print(items) {
      if (items.length === 0) return
      // Later pages keep the first one's columns, so that they stay below each other.
      if (layout === null) {
        layout = layOut(screen, items, cell, columns)
        const titles = layout.row.map(({ column, width }) =>
          padTo(column.title, width, column.side),
        )
        terminal.out(`${paint(titles.join(gap).trimEnd(), 'dim')}\n`)
      }
      for (const item of items) {
        const cells = layout.row.map(({ column, width }) => {
          const text = cutTo(cell(item, column), width, column.cut)
          const blanks = ' '.repeat(Math.max(0, width - textWidth(text)))
          const painted = paint(text, column.style?.(item) ?? null)
          return column.side === 'right' ? blanks + painted : painted + blanks
        })
        terminal.out(`${cells.join(gap).trimEnd()}\n`)
        const pieces = layout.below.flatMap((column) => pieceOf(column, cell(item, column)))
        for (const line of flowed(pieces, columns - indent.length)) {
          terminal.out(`${indent}${paint(line, 'dim')}\n`)
        }
      }
    },
  }
}

function layOut<T>(
  screen: readonly ScreenColumn<T>[],
  items: readonly T[],
  cell: (item: T, column: ScreenColumn<T>) => string,
  columns: number,
): Layout<T> {
  const all: readonly Laid<T>[] = screen
    .map((column) => {
      const widest = Math.max(0, ...items.map((item) => textWidth(cell(item, column))))
      return { column, width: widest === 0 ? 0 : Math.max(column.title.length, widest) }
    })
    // A column in which nothing stands says nothing.
    .filter(({ width }) => width > 0)
  let row = all
  for (;;) {
    const narrow = narrowed(row, columns, ({ least = leastUsual }) => least)
    const rank = Math.max(0, ...row.map(({ column }) => column.below ?? 0))
    if (excessOf(narrow, columns) > 0 && rank > 0) {
      row = row.filter(({ column }) => column.below !== rank)
      continue
    }
    const below = all.filter((one) => !row.includes(one)).map(({ column }) => column)
    return { row: narrowed(narrow, columns, () => cutWidthMin), below }
  }
}

function excessOf(laid: readonly { readonly width: number }[], columns: number): number {
  return laid.reduce((sum, { width }) => sum + width + gap.length, -gap.length) - columns
}

/** Takes what is too much from the widest that may be cut. */
function narrowed<T>(
  laid: readonly Laid<T>[],
  columns: number,
  leastOf: (column: ScreenColumn<T>) => number,
): readonly Laid<T>[] {
  let narrow = laid
  for (let left = excessOf(laid, columns); left > 0; left--) {
    const widest = narrow
      .filter(({ column, width }) => column.cut !== undefined && width > leastOf(column))
      .reduce<Laid<T> | null>((best, one) => (one.width > (best?.width ?? 0) ? one : best), null)
    if (widest === null) return narrow
    narrow = narrow.map((one) => (one === widest ? { ...one, width: one.width - 1 } : one))
  }
  return narrow
}

function cutTo(text: string, width: number, cut: 'middle' | 'end' | undefined): string {
  if (cut === undefined) return text
  return cut === 'middle' ? cutMiddle(text, width) : cutEnd(text, width)
}

interface Piece {
  readonly text: string
  readonly cut: 'middle' | 'end' | undefined
}

function pieceOf<T>({ label, cut }: ScreenColumn<T>, text: string): readonly Piece[] {
  if (text === '') return []
  return [{ text: label === undefined ? text : `${label} ${text}`, cut }]
}

/** One after the other, on as many lines as they need. A piece that may be cut takes one line. */
function flowed(pieces: readonly Piece[], width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const { text, cut } of pieces) {
    const before = line === '' ? '' : `${line}${gap}`
    const room = width - textWidth(before)
    if (textWidth(text) <= room || (cut !== undefined && room >= leastUsual && line !== '')) {
      line = before + cutTo(text, room, cut)
      continue
    }
    if (line !== '') lines.push(line)
    const wrapped = cut === undefined ? wrap(text, width) : [cutTo(text, width, cut)]
    lines.push(...wrapped.slice(0, -1))
    line = wrapped.at(-1) ?? ''
  }
  return line === '' ? lines : [...lines, line]
}
