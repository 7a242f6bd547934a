/**
 * Prints lists in two forms. On a terminal: a table that fits its width. If the width is too small,
 * columns move to a line below the row. None is left out, so that rows can always be told apart.
 * Otherwise: a header and one row per item, separated by tabs, with full values and exact times.
 * Programs read that form, so new columns are only added at the end.
 */
import type { Terminal } from '../terminal.ts'
import { paintFor, type Style } from './paint.ts'
import { printable } from './printable.ts'
import { cutEnd, cutMiddle, padTo, textWidth, wrap } from './text-width.ts'

export interface ScreenColumn<T> {
  readonly title: string
  readonly of: (item: T, nowMs: number) => string
  readonly style?: (item: T) => Style | null
  /** How a value may be cut if the table is too wide. Default: it is never cut. */
  readonly cut?: 'middle' | 'end'
  /** It keeps at least this width while another column can still move below the row. */
  readonly least?: number
  /** If there is not enough room, it moves below the row; the highest number moves first. */
  readonly below?: number
  /** Comes before the value below the row, where there is no title. */
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
const leastDefault = 16
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
  let hasHeader = false
  return {
    print(items) {
      if (!hasHeader) terminal.out(`${plain.map(([name]) => name).join('\t')}\n`)
      hasHeader = true
      const rows = items.map((item) => plain.map(([, of]) => plainText(of(item))).join('\t'))
      if (rows.length > 0) terminal.out(`${rows.join('\n')}\n`)
    },
  }
}

/** Null becomes an empty field. */
export function plainText(value: Scalar): string {
  return value === null ? '' : printable(String(value))
}

interface PlacedColumn<T> {
  readonly column: ScreenColumn<T>
  readonly width: number
}

interface Layout<T> {
  /** Side by side on the row's first line. */
  readonly row: readonly PlacedColumn<T>[]
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
      // Later pages keep the columns of the first page, so that the columns stay aligned.
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
        for (const line of flowPieces(pieces, columns - indent.length)) {
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
  const all: readonly PlacedColumn<T>[] = screen
    .map((column) => {
      const widest = Math.max(0, ...items.map((item) => textWidth(cell(item, column))))
      return { column, width: widest === 0 ? 0 : Math.max(column.title.length, widest) }
    })
    // A column without any value is left out.
    .filter(({ width }) => width > 0)
  let row = all
  for (;;) {
    const narrow = narrowColumns(row, columns, ({ least = leastDefault }) => least)
    const rank = Math.max(0, ...row.map(({ column }) => column.below ?? 0))
    if (excessOf(narrow, columns) > 0 && rank > 0) {
      row = row.filter(({ column }) => column.below !== rank)
      continue
    }
    const below = all.filter((one) => !row.includes(one)).map(({ column }) => column)
    return { row: narrowColumns(narrow, columns, () => cutWidthMin), below }
  }
}

function excessOf(placed: readonly { readonly width: number }[], columns: number): number {
  return placed.reduce((sum, { width }) => sum + width + gap.length, -gap.length) - columns
}

/** Makes the widest columns that may be cut narrower, until the row fits. */
function narrowColumns<T>(
  placed: readonly PlacedColumn<T>[],
  columns: number,
  leastOf: (column: ScreenColumn<T>) => number,
): readonly PlacedColumn<T>[] {
  let narrow = placed
  for (let left = excessOf(placed, columns); left > 0; left--) {
    const widest = narrow
      .filter(({ column, width }) => column.cut !== undefined && width > leastOf(column))
      .reduce<PlacedColumn<T> | null>(
        (best, one) => (one.width > (best?.width ?? 0) ? one : best),
        null,
      )
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

/** Puts the pieces one after the other on lines. A piece that may be cut takes one line. */
function flowPieces(pieces: readonly Piece[], width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const { text, cut } of pieces) {
    const before = line === '' ? '' : `${line}${gap}`
    const room = width - textWidth(before)
    if (textWidth(text) <= room || (cut !== undefined && room >= leastDefault && line !== '')) {
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
