import { describe, expect, test } from 'vitest'
import type { Terminal } from '../terminal.ts'
import { printFields } from './fields.ts'
import { tablePrinter, type TableShape } from './table.ts'
import { textWidth } from './text-width.ts'

interface Thing {
  readonly id: string
  readonly name: string
  readonly note: string
}

const shape: TableShape<Thing> = {
  screen: [
    { title: 'ID', of: ({ id }) => id },
    { title: 'NAME', of: ({ name }) => name, cut: 'middle' },
    { title: 'NOTE', of: ({ note }) => note, below: 1, style: () => 'red' },
  ],
  plain: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['size', ({ name }) => name.length],
    ['nothing', () => null],
  ],
}

function terminalOf(columns: number | null, colour = false) {
  let text = ''
  const terminal: Terminal = {
    out: (more) => void (text += more),
    err: () => undefined,
    columns,
    errColumns: null,
    colour,
    watched: false,
    logStyle: 'json' as const,
    gone: new AbortController().signal,
    lostAnswer: () => false,
  }
  return { terminal, lines: () => text.replace(/\n$/, '').split('\n') }
}

const things: readonly Thing[] = [
  { id: '1', name: 'short', note: 'n' },
  { id: '22', name: 'a name that is rather long 日本語 end', note: 'note' },
]

describe('outside a terminal', () => {
  test('a list has a header, tabs and full values, page after page', () => {
    const { terminal, lines } = terminalOf(null)
    const table = tablePrinter(terminal, shape, 0)
    table.print(things.slice(0, 1))
    table.print(things.slice(1))
    expect(lines()).toEqual([
      'id\tname\tsize\tnothing',
      '1\tshort\t5\t',
      '22\ta name that is rather long 日本語 end\t34\t',
    ])
  })

  test('a value cannot break its row or control the reader’s terminal', () => {
    const { terminal, lines } = terminalOf(null)
    tablePrinter(terminal, shape, 0).print([{ id: '1', name: 'a\tb\nc\x1b[2J', note: '' }])
    expect(lines()[1]).toBe('1\ta\\tb\\nc\\x1b[2J\t9\t')
  })
})

describe('on a terminal', () => {
  test('columns are aligned, also with wide characters', () => {
    const { terminal, lines } = terminalOf(80)
    tablePrinter(terminal, shape, 0).print(things)
    expect(lines()).toEqual([
      'ID  NAME                                   NOTE',
      '1   short                                  n',
      '22  a name that is rather long 日本語 end  note',
    ])
  })

  test('long values are cut before any column is left out', () => {
    const { terminal, lines } = terminalOf(30)
    tablePrinter(terminal, shape, 0).print(things)
    expect(lines()).toEqual([
      'ID  NAME                  NOTE',
      '1   short                 n',
      '22  a name tha…本語 end   note',
    ])
  })

  test.each([80, 40, 30, 26, 20, 16])('no line is wider than %i columns', (columns) => {
    const { terminal, lines } = terminalOf(columns)
    tablePrinter(terminal, shape, 0).print(things)
    for (const line of lines()) expect(textWidth(line)).toBeLessThanOrEqual(columns)
  })

  test('a column moves below its row when cutting is not enough', () => {
    const { terminal, lines } = terminalOf(22)
    tablePrinter(terminal, shape, 0).print(things)
    expect(lines()).toEqual(['ID  NAME', '1   short', '  n', '22  a name th…本語 end', '  note'])
  })

  test('a column below its row has a label, and is cut only where allowed', () => {
    const { terminal, lines } = terminalOf(30)
    const narrow: TableShape<Thing> = {
      screen: [
        { title: 'ID', of: () => 'id_0123456789012345678901', below: 2 },
        { title: 'NAME', of: ({ name }) => name, cut: 'middle', least: 28 },
        { title: 'SIZE', of: ({ name }) => String(name.length), label: 'size', below: 1 },
        { title: 'NOTE', of: () => 'some words that say why it is so', below: 1 },
        { title: 'DATA', of: () => 'a=1 b=2 c=3 d=4 e=5 f=6 g=7', cut: 'end', below: 1 },
      ],
      plain: [],
    }
    tablePrinter(terminal, narrow, 0).print(things.slice(0, 1))
    expect(lines()).toEqual([
      'NAME',
      'short',
      '  id_0123456789012345678901',
      '  size 5',
      '  some words that say why it',
      '  is so  a=1 b=2 c=3 d=4 e=5 …',
    ])
  })

  test('an empty column is not shown', () => {
    const { terminal, lines } = terminalOf(80)
    tablePrinter(terminal, shape, 0).print([{ id: '1', name: 'x', note: '' }])
    expect(lines()).toEqual(['ID  NAME', '1   x'])
  })

  test('colour does not count as width', () => {
    const { terminal, lines } = terminalOf(80, true)
    tablePrinter(terminal, shape, 0).print([{ id: '1', name: 'x', note: 'y' }])
    expect(lines()[1]).toBe('1   x     \x1b[31my\x1b[39m')
  })
})

describe('the details of one thing', () => {
  const fields = [
    { name: 'id', value: 'x' },
    { name: 'head_sha', value: null },
    { name: 'summary', value: 'first line\nsecond \x1b line' },
    { name: 'at', value: '2026-01-31T12:00:00.000Z', onScreen: 'just now' },
  ]

  test('are labels and values for people, without empty ones', () => {
    const { terminal, lines } = terminalOf(80)
    printFields(terminal, fields)
    expect(lines()).toEqual([
      'id       x',
      'summary  first line',
      '         second \\x1b line',
      'at       just now',
    ])
  })

  test('are one line per field for programs', () => {
    const { terminal, lines } = terminalOf(null)
    printFields(terminal, fields)
    expect(lines()).toEqual([
      'id\tx',
      'head_sha\t',
      'summary\tfirst line\\nsecond \\x1b line',
      'at\t2026-01-31T12:00:00.000Z',
    ])
  })
})
