/**
 * Lists in their two forms. On a terminal: a table that fits its width, with what people look at.
 * Elsewhere: a header and one row per item, separated by tabs, with full values and exact times;
 * other programs read that, so its columns only ever grow at the end.
 */
import type { Terminal } from '../terminal.ts'
import { paintFor, type Style } from './paint.ts'
import { printable } from './printable.ts'
import { cutEnd, cutMiddle, padTo, textWidth } from './text-width.ts'

export interface ScreenColumn<T> {
  readonly title: string
  readonly of: (item: T, nowMs: number) => string
  readonly style?: (item: T) => Style | null
  /** How it may be cut when the table is too wide; without it, it never is. */
  readonly cut?: 'middle' | 'end'
  /** Left out altogether where room is short; the highest first. */
  readonly spare?: number
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
/** Cut no further while a column can be spared. */
const comfortableWidth = 16
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

function screenTable<T>(
  terminal: Terminal,
  columns: number,
  { screen }: TableShape<T>,
  nowMs: number,
): TablePrinter<T> {
  const paint = paintFor(terminal.colour)
  let laid: readonly Laid<T>[] | null = null
  return {
    print(items) {
      if (items.length === 0) return
      const cell = (item: T, { of }: ScreenColumn<T>): string => printable(of(item, nowMs))
      // Later pages keep the first one's columns, so that they stay below each other.
      if (laid === null) {
        laid = layOut(screen, items, cell, columns)
        const titles = laid.map(({ column, width }) => padTo(column.title, width, column.side))
        terminal.out(`${paint(titles.join(gap).trimEnd(), 'dim')}\n`)
      }
      for (const item of items) {
        const cells = laid.map(({ column, width }) => {
          const text = cutTo(cell(item, column), width, column.cut)
          const blanks = ' '.repeat(Math.max(0, width - textWidth(text)))
          const painted = paint(text, column.style?.(item) ?? null)
          return column.side === 'right' ? blanks + painted : painted + blanks
        })
        terminal.out(`${cells.join(gap).trimEnd()}\n`)
      }
    },
  }
}

function layOut<T>(
  screen: readonly ScreenColumn<T>[],
  items: readonly T[],
  cell: (item: T, column: ScreenColumn<T>) => string,
  columns: number,
): readonly Laid<T>[] {
  let laid: readonly Laid<T>[] = screen
    .map((column) => {
      const widest = Math.max(0, ...items.map((item) => textWidth(cell(item, column))))
      return { column, width: widest === 0 ? 0 : Math.max(column.title.length, widest) }
    })
    // A column in which nothing stands says nothing.
    .filter(({ width }) => width > 0)
  for (;;) {
    const narrow = narrowed(laid, columns, comfortableWidth)
    if (excessOf(narrow, columns) <= 0) return narrow
    const rank = Math.max(0, ...laid.map(({ column }) => column.spare ?? 0))
    if (rank === 0) return narrowed(laid, columns, cutWidthMin)
    laid = laid.filter(({ column }) => column.spare !== rank)
  }
}

function excessOf(laid: readonly { readonly width: number }[], columns: number): number {
  return laid.reduce((sum, { width }) => sum + width + gap.length, -gap.length) - columns
}

/** Takes what is too much from the widest that may be cut. */
function narrowed<T>(laid: readonly Laid<T>[], columns: number, least: number): readonly Laid<T>[] {
  let narrow = laid
  for (let left = excessOf(laid, columns); left > 0; left--) {
    const widest = narrow
      .filter(({ column, width }) => column.cut !== undefined && width > least)
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
