/** Goal: a text that is shortened still says the reason, and is never longer than allowed. */
import { expect, it } from 'vitest'
import { commandFailed, shortFailure } from './failure-text.ts'

const output = Array.from({ length: 50 }, (_, at) => `line ${at}`).join('\n')
const text = `exit code 3\n${output}\nboom: disk is on fire`

it('a failed command keeps how it ended and the last lines of its output', () => {
  const short = shortFailure(commandFailed, text, 52)
  expect(short).toBe('exit code 3\n…\nline 48\nline 49\nboom: disk is on fire')
  expect(short.length).toBeLessThanOrEqual(52)
  expect(shortFailure(commandFailed, text, text.length)).toBe(text)
})

it('any other failure keeps its beginning', () => {
  const short = `${text.slice(0, 29)}…`
  expect(shortFailure('step_failed', text, 30)).toBe(short)
  expect(shortFailure(null, text, 30)).toBe(short)
})

it.each([10, 11, 12, 13])('lines without a space are cut to %i whole characters', (max) => {
  const short = shortFailure(commandFailed, '😀'.repeat(100), max)
  expect(short.length).toBeLessThanOrEqual(max)
  expect(short).toMatch(/^.+\n…\n.+$/u)
  expect(short.isWellFormed()).toBe(true)
})
