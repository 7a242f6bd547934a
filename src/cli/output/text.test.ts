import { describe, expect, test } from 'vitest'
import { paintFor } from './paint.ts'
import { printable, printableLines } from './printable.ts'
import { cutEnd, cutMiddle, padTo, textWidth, wrap } from './text-width.ts'
import { durationText, exactTime, relativeTime } from './time-text.ts'

describe('text from outside', () => {
  test.each([
    ['\x1b[31mred\x1b[0m', '\\x1b[31mred\\x1b[0m'],
    ['a\nb\tc\rd', 'a\\nb\\tc\\rd'],
    ['\u009b2J', '\\x9b2J'],
    ['a\u202eb', 'a\\u202eb'],
    ['\u2028', '\\u2028'],
    ['日本語 ✓', '日本語 ✓'],
    ['\ud800x', '\ufffdx'],
  ])('%j is printed as %j', (text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  test('keeps its line breaks for people, and no other control character', () => {
    expect(printableLines('one\r\n\ttwo\x07')).toEqual(['one', '  two\\x07'])
  })
})

describe('width', () => {
  test.each([
    ['abc', 3],
    ['日本', 4],
    ['e\u0301', 1],
    ['👍', 2],
    ['👨‍👩‍👧', 2],
    ['…', 1],
  ])('%s takes %i columns', (text, width) => {
    expect(textWidth(text)).toBe(width)
  })

  test.each([
    ['acme/widgets', 12, 'acme/widgets', 'acme/widgets'],
    ['acme/widgets', 7, 'acm…ets', 'acme/w…'],
    ['日本語日本語', 7, '日…語', '日本語…'],
    ['日本語日本語', 8, '日本…語', '日本語…'],
  ])('%s in %i columns is %s or %s', (text, width, middle, end) => {
    expect([cutMiddle(text, width), cutEnd(text, width)]).toEqual([middle, end])
    expect(textWidth(middle)).toBeLessThanOrEqual(width)
  })

  test('is used for padding and line breaks', () => {
    expect(padTo('日', 4)).toBe('日  ')
    expect(padTo('5', 3, 'right')).toBe('  5')
    expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrap('a-word-too-long x', 5)).toEqual(['a-word-too-long', 'x'])
  })
})

describe('times', () => {
  const now = Date.parse('2026-01-31T12:00:00.000Z')
  test.each([
    ['2026-01-31T12:00:00.000Z', 'now'],
    ['2026-01-31T11:59:48.000Z', '12 s ago'],
    ['2026-01-31T11:57:00.000Z', '3 min ago'],
    ['2026-01-31T07:00:00.000Z', '5 h ago'],
    ['2026-01-28T12:00:00.000Z', '3 d ago'],
    ['2025-11-30T12:00:00.000Z', '2025-11-30'],
    ['2026-01-31T12:10:00.000Z', 'in 10 min'],
    ['no time', 'no time'],
  ])('%s is %s', (time, words) => {
    expect(relativeTime(time, now)).toBe(words)
  })

  test('are shown exactly, beside how long ago they were', () => {
    expect(exactTime('2026-01-31T11:56:59.123Z', now)).toBe('2026-01-31T11:56:59.123Z (3 min ago)')
    expect(exactTime('2025-01-31T11:56:59.123Z', now)).toBe('2025-01-31T11:56:59.123Z')
    expect(durationText(47 * 3_600_000)).toBe('47 h')
  })
})

test('colour is used only when requested', () => {
  expect(paintFor(true)('x', 'red')).toBe('\x1b[31mx\x1b[39m')
  expect(paintFor(true)('x', null)).toBe('x')
  expect(paintFor(false)('x', 'red')).toBe('x')
})
