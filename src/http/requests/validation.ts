/**
 * Checks requests against the contract.
 *
 * 400 is for a wrong shape: a field is missing, unknown or has another type, or the path is bad.
 * 422 is for a right shape with an invalid value. If both occur, the answer is 400 and names the
 * shape.
 */
import type { FastifySchemaCompiler } from 'fastify'
import type { z } from 'zod'
import { clauses, sentence } from '../../texts/sentences.ts'
import { findingsOf, type Finding } from '../../validation/findings.ts'
import { formFor } from '../../contract.ts'
import { HttpProblem, type FieldError } from '../answers/problem.ts'

/** A body can be wrong in a hundred thousand places. */
const errorsMax = 20

type Part = 'body' | 'params' | 'querystring' | 'headers'

export const checkRequest: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  return (sent: unknown) => {
    // For the framework, null means that there is no body.
    const data = httpPart === 'body' && sent === null ? undefined : sent
    const form = formFor(schema, data)
    const checked = form.safeParse(data)
    if (checked.success) return { value: checked.data }
    const found = findingsOf(form, checked.error.issues, data)
    return { error: refusal(found, (httpPart ?? 'body') as Part) }
  }
}

function refusal(found: readonly Finding[], part: Part): HttpProblem {
  const shape = found.filter((one) => one.shape)
  const status = shape.length > 0 || part === 'params' ? 400 : 422
  const errors = (status === 400 && shape.length > 0 ? shape : found).map(({ path, message }) => ({
    field: path.map(String).join('.') || part,
    message,
  }))
  return invalid(status, errors)
}

export function invalid(status: 400 | 422, found: readonly FieldError[]): HttpProblem {
  const errors = found.slice(0, errorsMax).map(({ field, message }) => ({
    field: printable(field),
    message,
  }))
  const code = status === 400 ? 'invalid_request' : 'invalid_value'
  const detail = clauses(errors.map(({ field, message }) => `${field} ${message}`))
  return new HttpProblem(status, code, sentence(shortened(detail)), { errors })
}

/** A field's name comes from the caller, and logs and screens show it. */
function printable(name: string): string {
  return shortened(name.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '\uFFFD'), 100)
}

function shortened(text: string, max = 1000): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`
}
