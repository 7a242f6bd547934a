/** Goal: whatever was thrown, the run gets a text and a code, and the log gets a line. */
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { SetupError } from '../errors.ts'
import type { Log } from '../log.ts'
import { isA } from '../texts/thrown-value.ts'
import { failedBy, warnOf } from './failed-by.ts'

const fails = (): never => {
  throw new Error('cannot be read')
}
const withField = (name: string): Error =>
  Object.defineProperty(new Error('x'), name, { get: fails })
const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
const unreadable = 'something was thrown that cannot be read'

const odd: readonly (readonly [string, unknown, string])[] = [
  ['a frozen error', Object.freeze(new Error('frozen')), 'Error: frozen'],
  ['an error without a message', withField('message'), unreadable],
  ['an error without a code', withField('code'), 'Error: x'],
  [
    'an error whose name is no text',
    Object.assign(new Error('x'), { name: Symbol('n') }),
    unreadable,
  ],
  ['a Proxy that throws', new Proxy({}, { getPrototypeOf: fails, get: fails }), unreadable],
  ['a revoked Proxy', revoked(), unreadable],
  ['nothing', undefined, 'something that is not an Error was thrown: undefined'],
  ['a BigInt', 1n, 'something that is not an Error was thrown: a bigint'],
]

describe.each(odd)('%s', (_, thrown, text) => {
  it('has a text and a code', () => {
    expect(failedBy(thrown).error).toEqual({ code: 'handler_failed', text })
    expect(isA(thrown, TypeError)).toBe(false)
  })

  it('is logged', () => {
    const lines: string[] = []
    const log = pino({}, { write: (line) => void lines.push(line) })
    warnOf(log, thrown, { run_id: 'run_1' }, 'A handler failed')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ run_id: 'run_1', err: { message: text } })
  })
})

it('a log that throws changes nothing', () => {
  const log: Log = { debug: fails, info: fails, warn: fails, error: fails }
  expect(() => warnOf(log, new Error('x'), {}, 'A handler failed')).not.toThrow()
})

it('an error of ours has its hint after one full stop', () => {
  const error = new SetupError('broken', 'The file is missing.', { hint: 'Make it.' })
  expect(failedBy(error).error?.text).toBe('The file is missing. Make it.')
})
