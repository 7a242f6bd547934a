import { expect, test } from 'vitest'
import { limitWords, measuredWords } from './duration.ts'

test.each([
  [3_600_000, '1 hour'],
  [5_400_000, '90 minutes'],
  [61_000, '61 seconds'],
  [1000, '1 second'],
  [172_800_000, '2 days'],
  [1500, '1.5 seconds'],
  [250, '0.25 seconds'],
])('a limit of %d ms is exact: %s', (ms, words) => {
  expect(limitWords(ms)).toBe(words)
})

test.each([
  [600_277, '10 minutes'],
  [119_400, '119 seconds'],
  [3_612_000, '1 hour'],
  [0, '1 second'],
  [1499, '1 second'],
])('a measured time of %d ms is rounded: %s', (ms, words) => {
  expect(measuredWords(ms)).toBe(words)
})
