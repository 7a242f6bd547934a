import { expect, it } from 'vitest'
import { cutText } from './cut-text.ts'

it.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc'],
  ['ab😀', 4, 'ab😀'],
  ['ab😀c', 4, 'ab😀'],
  ['ab😀c', 3, 'ab'],
  ['😀', 1, ''],
  ['', 3, ''],
  ['abc', 0, ''],
])('%j cut to %d units is %j', (text, max, cut) => {
  expect(cutText(text, max)).toBe(cut)
})

it('a half character that was there before is replaced', () => {
  expect(cutText('a\ud83d', 5)).toBe('a\ufffd')
  expect(cutText('\ude00bcd', 2)).toBe('\ufffdb')
})
