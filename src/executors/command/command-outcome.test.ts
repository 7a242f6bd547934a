import { describe, expect, test } from 'vitest'
import { commandOutcome, lastLines } from './command-outcome.ts'
import type { CommandEnd } from './commands.ts'

const end = (given: Partial<CommandEnd> = {}): CommandEnd => ({
  exitCode: 0,
  signal: null,
  output: '',
  cutOff: false,
  failure: null,
  failureText: null,
  ...given,
})
const results = { summary: '# Text', result: { n: 1 }, problem: null }
const written = { summary: '# Text', result: { n: 1 } }
const problem = 'The result file is not valid JSON. Write one JSON value to it.'

describe('a run', () => {
  test('succeeds with exit code 0', () => {
    const outcome = { outcome: 'succeeded', ...written, error: null }
    expect(commandOutcome(end(), results)).toEqual(outcome)
  })

  test('is skipped with exit code 78', () => {
    const outcome = { outcome: 'skipped', ...written, error: null }
    expect(commandOutcome(end({ exitCode: 78 }), results)).toEqual(outcome)
  })

  test('fails with any other exit code, and its error has the last lines', () => {
    const failed = end({ exitCode: 3, output: 'one\ntwo\n\n' })
    expect(commandOutcome(failed, results)).toEqual({
      outcome: 'failed',
      ...written,
      error: { code: 'command_failed', text: 'exit code 3\none\ntwo' },
    })
  })

  test('fails when a signal ends the command', () => {
    const failed = end({ exitCode: null, signal: 'SIGSEGV' })
    expect(commandOutcome(failed, results)?.error).toEqual({
      code: 'command_failed',
      text: 'signal SIGSEGV',
    })
  })

  test('fails when the command could not be started', () => {
    const failed = end({ exitCode: null, failure: 'not_started', failureText: 'It was not found.' })
    expect(commandOutcome(failed, results)?.error).toEqual({
      code: 'command_not_started',
      text: 'It was not found.',
    })
  })

  test.each([0, 78])('fails with a bad file although the exit code is %i', (exitCode) => {
    const outcome = commandOutcome(end({ exitCode }), { summary: null, result: null, problem })
    expect(outcome?.outcome).toBe('failed')
    expect(outcome?.error).toEqual({ code: 'bad_result_file', text: problem })
  })

  test('that failed by itself names a bad file too', () => {
    const outcome = commandOutcome(end({ exitCode: 1, output: 'x' }), { ...results, problem })
    expect(outcome?.error).toEqual({
      code: 'command_failed',
      text: `exit code 1\n${problem}\nx`,
    })
  })

  test.each(['lease_ended', 'guard_lost'] as const)('has no outcome by %s', (failure) => {
    expect(commandOutcome(end({ exitCode: null, failure }), results)).toBeNull()
  })
})

describe('the last lines', () => {
  test('are twenty', () => {
    const lines = Array.from({ length: 50 }, (_, n) => `line ${n}`)
    expect(lastLines(lines.join('\n'))).toBe(lines.slice(30).join('\n'))
  })

  test('have at most 2000 characters together with what happened', () => {
    const outcome = commandOutcome(end({ exitCode: 1, output: 'x'.repeat(9000) }), results)
    expect(outcome?.error?.text).toHaveLength(2000)
    expect(outcome?.error?.text).toMatch(/^exit code 1\nx+$/)
  })

  test('do not begin with half a character', () => {
    const text = lastLines('😀'.repeat(3000), 11)
    expect(text).toBe('😀'.repeat(5))
  })
})
