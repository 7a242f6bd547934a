/** What a measurement found, and the table that shows it. */
import type { Comparison } from './rounds.ts'

export interface Result extends Comparison {
  readonly what: string
  readonly against: string
  /** The ratio must not be below this. */
  readonly bound: number
}

export const isOk = ({ ratio, bound }: Result): boolean => ratio >= bound

export function renderTable(results: readonly Result[]): string {
  const head = ['per second', 'ours', 'against', 'peer', 'ratio', 'bound', '']
  const rows = results.map((result) => [
    result.what,
    perSecond(result.ours),
    result.against,
    perSecond(result.peer),
    result.ratio.toFixed(2),
    `>= ${result.bound}`,
    isOk(result) ? 'ok' : 'MISSED',
  ])
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)))
  const isNumber = [false, true, false, true, true, true, false]
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, i) =>
          isNumber[i] === true ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const perSecond = (rate: number): string => `${Math.round(rate)}`
