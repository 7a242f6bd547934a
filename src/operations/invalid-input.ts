/** Errors for input that fits its schema but cannot be accepted. They name the field. */
import { InvalidInputError } from '../errors.ts'

/** A field is missing, or does not belong there. */
export const invalidRequest = (field: string, message: string): InvalidInputError =>
  new InvalidInputError('invalid_request', field, `${field} ${message}`)

/** The field is there, and its value is invalid. */
export const invalidValue = (field: string, message: string): InvalidInputError =>
  new InvalidInputError('invalid_value', field, `${field} ${message}`)
