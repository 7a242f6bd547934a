import { expect, it } from 'vitest'
import type { TablePlan } from './copy-plan.ts'
import { rowBatches } from './row-batches.ts'
import { keyOf, rowsAsJson, rowText, storable } from './row-values.ts'

const table: TablePlan = {
  name: 't',
  columns: ['n', 'id', 'text', 'bytes'].map((name) => ({ name, type: 'text' })),
  key: ['id', 'n'],
  filled: [],
  numbered: null,
}

it('different rows have different texts, and a flag is the same as 0 or 1', () => {
  const rows = [[null], [''], ['null'], [0], ['0'], [Buffer.from('0')], ['0', null], [], ['a,b']]
  expect(new Set(rows.map(rowText)).size).toBe(rows.length)
  expect(rowText([true, false])).toBe(rowText([1, 0]))
  expect(rowText([Buffer.from('ab')])).toBe(rowText([new Uint8Array([97, 98])]))
})

it('bytes go to PostgreSQL as hex, and everything else as it is', () => {
  const rows = [[5, 'a"\u0001\ud83d\ude80', null, Buffer.from([0, 255])]]
  expect(JSON.parse(rowsAsJson(table, rows))).toEqual([
    { n: 5, id: 'a"\u0001\ud83d\ude80', text: null, bytes: '\\x00ff' },
  ])
})

it('the key has the order of the primary key, not of the columns', () => {
  expect(keyOf(table, [5, 'a', null, null])).toEqual(['a', 5])
})

it('NUL is replaced in a text, kept in bytes, and refused in a key', () => {
  const bytes = Buffer.from([0])
  expect(storable(table, [1, 'a', 'x\0y\0', bytes])).toEqual({
    values: [1, 'a', 'x\ufffdy\ufffd', bytes],
    replaced: 1,
  })
  expect(() => storable(table, [1, 'a\0', null, null])).toThrow('a key in t.id contains a NUL')
})

it('a batch ends after a thousand rows or a few megabytes, and none is lost', () => {
  const row = (n: number, size: number) => ({
    values: [n, 'a', 'x'.repeat(size), null],
    replaced: n % 2,
  })
  const small = [
    ...rowBatches(
      table,
      Array.from({ length: 2500 }, (_, n) => row(n, 1)),
    ),
  ]
  expect(small.map(({ rows }) => rows.length)).toEqual([1000, 1000, 500])
  expect(small.map(({ last }) => last)).toEqual([
    ['a', 999],
    ['a', 1999],
    ['a', 2499],
  ])
  expect(small.map(({ replaced }) => replaced)).toEqual([500, 500, 250])
  const large = [...rowBatches(table, [row(1, 3e6), row(2, 3e6), row(3, 9e6), row(4, 1)])]
  expect(large.map(({ rows }) => rows.length)).toEqual([2, 1, 1])
  expect([...rowBatches(table, [])]).toEqual([])
})
