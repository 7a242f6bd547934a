import { expect, it } from 'vitest'
import { inPieces, join, padded, sql, tuples } from './sql.ts'

it('a statement has its parameters beside its text, in order, also with fragments', () => {
  const statement = sql`SELECT ${sql`a = ${1}`} AND b IN (${join(['x', 'y'])}) AND c = ${null}`
  expect(statement.text).toBe('SELECT a = ? AND b IN (?, ?) AND c = ?')
  expect(statement.params).toEqual([1, 'x', 'y', null])
})

it('rows become tuples', () => {
  const rows = tuples([
    [1, 'a'],
    [2, 'b'],
  ])
  expect(rows.text).toBe('(?, ?), (?, ?)')
  expect(rows.params).toEqual([1, 'a', 2, 'b'])
})

it('pieces have sizes of powers of two, at most 64, keep the order and omit nothing', () => {
  for (const count of [0, 1, 2, 3, 7, 63, 64, 65, 130, 700]) {
    const items = Array.from({ length: count }, (_, n) => n)
    const pieces = inPieces(items)
    expect(pieces.flat()).toEqual(items)
    expect(pieces.every(({ length }) => length <= 64 && Number.isInteger(Math.log2(length)))).toBe(
      true,
    )
  }
})

it('a padded list repeats its last item up to a power of two', () => {
  expect(padded([])).toEqual([])
  expect(padded(['a'])).toEqual(['a'])
  expect(padded(['a', 'b', 'c'])).toEqual(['a', 'b', 'c', 'c'])
})
