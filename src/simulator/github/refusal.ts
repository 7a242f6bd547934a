/**
 * A refusal of the simulated GitHub. It is thrown before any state is changed; the core turns it
 * into an answer.
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

/** A 422 with only a sentence, as for a commit that does not exist. */
export const unprocessable = (message: string): Refusal => new Refusal(422, { message })

export interface FieldProblem {
  readonly resource: string
  readonly field?: string
  readonly code: string
  readonly message?: string
}

/** A 422 that lists the invalid fields. */
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
