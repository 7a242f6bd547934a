/**
 * A log line for a person at a terminal, made from the JSON line that a program would read:
 *
 *   12:05:02Z INFO  Published  channel=github-comment delivery_id=del_1
 *
 * Times are UTC, as everywhere. Fields without a value are left out. An error follows on its own
 * lines. If the level is ERROR or higher, its stack is shown too.
 */
import { inspect } from 'node:util'
import type { Paint, Style } from '../output/paint.ts'
import { printable, printableLines } from '../output/printable.ts'

interface Level {
  readonly name: string
  readonly style: Style | null
}

/** pino's levels by their number. */
const levels: Readonly<Record<number, Level>> = {
  10: { name: 'TRACE', style: 'dim' },
  20: { name: 'DEBUG', style: 'dim' },
  30: { name: 'INFO', style: 'green' },
  40: { name: 'WARN', style: 'yellow' },
  50: { name: 'ERROR', style: 'red' },
  60: { name: 'FATAL', style: 'red' },
}
const errorLevel = 50

/** A line that is not a JSON object is shown as it is. */
export function readableLine(line: string, paint: Paint): string {
  const entry = parsed(line)
  if (entry === null) return line
  const { level, time, msg, err, ...fields } = entry
  const { name, style } = levels[Number(level)] ?? { name: String(level), style: null }
  const at = new Date(Number(time)).toISOString().slice(11, 19)
  const fieldTexts = Object.entries(fields)
    .map(([key, value]) => ({ key: printable(key), value: valueText(value) }))
    .filter(({ value }) => value !== '')
    .map(({ key, value }) => paint(`${key}=${value}`, 'dim'))
  const head = [
    `${paint(`${at}Z`, 'dim')} ${paint(name.padEnd(5), style)} ${printable(textOf(msg))}`,
    ...(fieldTexts.length === 0 ? [] : [fieldTexts.join(' ')]),
  ].join('  ')
  const below = errorLines(err, Number(level) >= errorLevel)
  return `${[head, ...below.map((text) => `          ${paint(text, style)}`)].join('\n')}\n`
}

function parsed(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'object' ? (entry as Readonly<Record<string, unknown>> | null) : null
  } catch {
    return null
  }
}

/** Empty for null, undefined, and an object or list without entries. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return /^[^\s"=]+$/.test(value) ? printable(value) : quoted(value)
  const isEmpty = typeof value === 'object' && Object.keys(value).length === 0
  return isEmpty ? '' : printable(JSON.stringify(value))
}

const quoted = (text: string): string => printable(JSON.stringify(text))

const textOf = (value: unknown): string => (typeof value === 'string' ? value : inspect(value))

function errorLines(err: unknown, withStack: boolean): readonly string[] {
  if (typeof err !== 'object' || err === null) return []
  const { type, message, stack } = err as Readonly<Record<string, unknown>>
  const text =
    withStack && typeof stack === 'string' ? stack : `${textOf(type)}: ${textOf(message)}`
  return printableLines(text)
}
