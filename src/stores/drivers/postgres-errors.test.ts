/** Goal: what is wrong with a request of ours does not look like a database that is away. */
import { expect, it } from 'vitest'
import { StoreUnavailableError } from '../../errors.ts'
import { statementFailure } from './postgres-errors.ts'

const serverError = (code: string, severity: string): Error =>
  Object.assign(new Error('from the server'), { code, severity })

it.each([
  ['a text that is too long to send', new RangeError('Invalid string length')],
  ['a message that the server cannot read', serverError('08P01', 'ERROR')],
  ['a statement that the server refuses', serverError('42703', 'ERROR')],
])('%s is an error of ours', (_name, error) => {
  expect(statementFailure(error)).toBe(error)
})

it.each([
  ['a connection that is cut', Object.assign(new Error('read'), { code: 'ECONNRESET' })],
  ['a connection that has ended', new Error('Connection terminated unexpectedly')],
  ['a pooler without a server', serverError('08P01', 'FATAL')],
  ['a server that shuts down', serverError('57P01', 'FATAL')],
])('%s means that the database is away', (_name, error) => {
  expect(statementFailure(error)).toBeInstanceOf(StoreUnavailableError)
})
