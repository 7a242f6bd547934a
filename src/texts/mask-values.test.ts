import { describe, expect, test } from 'vitest'
import { longestValueBytes, maskFor } from './mask-values.ts'

const mask = (text: string, ...values: string[]): string => maskFor(values)(text)

describe('a value is masked', () => {
  test('at every place', () => {
    expect(mask('hunter2 and hunter2', 'hunter2')).toBe('*** and ***')
  })

  test('inside a longer word', () => {
    expect(mask('xhunter2x', 'hunter2')).toBe('x***x')
  })

  test('where it overlaps another one or itself', () => {
    expect(mask('-abcdef-', 'abcd', 'cdef')).toBe('-***-')
    expect(mask('-abcabcab-', 'abcab')).toBe('-***-')
    expect(mask('aaaaaa', 'aaaa')).toBe('***')
  })

  test('as the longest of several that begin with each other', () => {
    expect(mask('password1234', 'pass', 'password1234')).toBe('***')
  })

  test('without the white space around it', () => {
    expect(mask('[hunter2]', ' hunter2\n')).toBe('[***]')
  })

  test('line by line if it has several lines', () => {
    const value = 'first line\r\nab\nthird line\n'
    expect(mask('  third line\n  first line', value)).toBe('  ***\n  ***')
    expect(mask('first line\r\nab\nthird line', value)).toBe('***')
    expect(mask('ab', value)).toBe('ab')
  })

  test('as JSON and as a part of a URL', () => {
    expect(mask(String.raw`{"a":"p\"ss\\word"}`, String.raw`p"ss\word`)).toBe('{"a":"***"}')
    expect(mask('https://me:p%40ss%2Fword@db', 'p@ss/word')).toBe('https://me:***@db')
  })
})

test('values of less than four characters are left', () => {
  expect(mask('yes no 123', 'yes', 'no', '123', '')).toBe('yes no 123')
})

test('a text without secrets stays as it is', () => {
  expect(mask('nothing here', 'hunter2')).toBe('nothing here')
  expect(maskFor([])('hunter2')).toBe('hunter2')
})

test('the longest value is measured in bytes', () => {
  expect(longestValueBytes([])).toBe(0)
  expect(longestValueBytes(['€€€€', 'abcdefg'])).toBe('%E2%82%AC'.length * 4)
})

test('many overlapping occurrences take no long time', () => {
  const before = performance.now()
  expect(mask('a'.repeat(200_000), 'a'.repeat(50_000), 'a'.repeat(20_000))).toBe('***')
  expect(performance.now() - before).toBeLessThan(3000)
})
