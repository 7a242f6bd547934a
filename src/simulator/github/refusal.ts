/**
 * How the simulated GitHub says no. Thrown by whatever finds the reason, before any state is
 * changed, and turned into an answer in one place.
 */
import type { Json } from './json/json.ts'

export class Refusal extends Error {
  readonly status: number
  readonly body: Json
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, body: Json, headers: Readonly<Record<string, string>> = {}) {
    super(`${status} ${String(body['message'])}`)
    this.status = status
    this.body = body
    this.headers = headers
  }
}

export const docsUrl = 'https://docs.github.com/rest'

export const notFound = (): Refusal => new Refusal(404, { message: 'Not Found' })

export const forbidden = (message: string): Refusal => new Refusal(403, { message })

/** A 422 with one sentence and nothing else, as for a commit that is not there. */
export const unprocessable = (message: string): Refusal => new Refusal(422, { message })

export interface FieldProblem {
  readonly resource: string
  readonly field?: string
  readonly code: string
  readonly message?: string
}

/** A 422 that names what is wrong, field by field. */
export const invalid = (...errors: readonly FieldProblem[]): Refusal =>
  new Refusal(422, { message: 'Validation Failed', errors })

export const notSupplied = (field: string): Refusal =>
  new Refusal(422, { message: `Invalid request.\n\n"${field}" wasn't supplied.` })

export const wrongType = (field: string, value: unknown, type: string): Refusal =>
  new Refusal(422, {
    message:
      'Invalid request.\n\n' +
      `For 'properties/${field}', ${JSON.stringify(value)} is not ${type}.`,
  })
