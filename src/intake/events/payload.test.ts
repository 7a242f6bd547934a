// Goal: whatever a payload contains, reading it never throws, and no text that could break a
// database, a log line or a terminal gets through.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { numberAt, repoAt, shaAt, textAt, timeAt, valueAt } from './payload.ts'

const anything = fc.anything({ withNullPrototype: true, withSparseArray: true, withBigInt: true })
const path = fc.array(
  fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'length', 'toString', '0')),
  { maxLength: 4 },
)
const readers = { valueAt, textAt, numberAt, shaAt, repoAt, timeAt }

describe('a payload with any content', () => {
  it.each(Object.entries(readers))('%s never throws', (_name, read) => {
    fc.assert(
      fc.property(anything, path, (payload, keys) => {
        read(payload, ...keys)
      }),
      { numRuns: 500, seed: 1 },
    )
  })

  it('is read as text only if that is one short line which any database accepts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (value) => {
        const text = textAt({ value }, 'value')
        if (text === null) return
        expect(text).toBe(value)
        expect(text.isWellFormed()).toBe(true)
        expect(text.length).toBeLessThanOrEqual(255)
        // eslint-disable-next-line no-control-regex -- that there are none is the point
        expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
      }),
      { numRuns: 1000, seed: 2 },
    )
  })
})

describe('a path', () => {
  it('reaches only the payload’s own fields', () => {
    const payload: unknown = JSON.parse('{"a":{"__proto__":{"b":"own"}},"list":["x"]}')
    expect(valueAt(payload, 'a', '__proto__', 'b')).toBe('own')
    for (const keys of [
      ['__proto__'],
      ['constructor', 'name'],
      ['a', 'toString'],
      ['list', 'map'],
      ['list', '0', 'length'],
      ['missing', 'b'],
    ]) {
      expect(valueAt(payload, ...keys)).toBeUndefined()
    }
    expect(valueAt(payload, 'list', '0')).toBe('x')
    expect(valueAt(7)).toBe(7)
  })
})

describe('a text', () => {
  it.each([
    ['', 'empty'],
    ['a\u0000b', 'with a NUL'],
    ['a\nb', 'of two lines'],
    ['\u001b[31mred', 'that colours a terminal'],
    ['a\u2028b', 'with a line separator'],
    ['\ud800', 'with half a character'],
    ['x'.repeat(256), 'too long'],
  ])('is not read as %j: %s', (value) => {
    expect(textAt({ value }, 'value')).toBeNull()
  })

  it.each(['x', 'ä 🦀', 'x'.repeat(255)])('is read as %s', (value) => {
    expect(textAt({ value }, 'value')).toBe(value)
  })
})

describe('a number', () => {
  it.each([0, -1, 1.5, 2 ** 53, Number.NaN, Infinity, '5', [5], true, null])(
    'is not read from %s',
    (value) => expect(numberAt({ value }, 'value')).toBeNull(),
  )

  it.each([1, 2 ** 53 - 1])('is read from %s', (value) => {
    expect(numberAt({ value }, 'value')).toBe(value)
  })
})

describe('a sha, a repository and a time', () => {
  it('are read only in their one valid form', () => {
    const sha = 'aB'.repeat(20)
    expect(shaAt({ value: sha }, 'value')).toBe(sha.toLowerCase())
    expect(shaAt({ value: 'c'.repeat(64) }, 'value')).toBe('c'.repeat(64))
    for (const value of ['abc1234', 'g'.repeat(40), ` ${sha}`, `${sha}\n`, 'a'.repeat(41)]) {
      expect(shaAt({ value }, 'value')).toBeNull()
    }
    expect(repoAt({ value: 'Acme/Wid-gets.js_2' }, 'value')).toBe('acme/wid-gets.js_2')
    for (const value of ['acme', 'a/b/c', '/b', 'a/', 'a b/c', `a/${'b'.repeat(101)}`, 'ä/b']) {
      expect(repoAt({ value }, 'value')).toBeNull()
    }
    expect(timeAt({ value: '2026-01-31T12:00:00Z' }, 'value')).toBe(Date.UTC(2026, 0, 31, 12))
    for (const value of ['2026', '31 Jan 2026', '2026-13-01T00:00:00Z', '1969-01-01T00:00:00Z']) {
      expect(timeAt({ value }, 'value')).toBeNull()
    }
  })
})
