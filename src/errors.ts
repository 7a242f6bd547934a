/**
 * Errors by what happens next. The class says whether to try again, the `code` is what programs
 * read, the message says what is wrong and the hint what to do about it. None of them ever carries
 * a secret.
 */

interface ErrorOptionsWithHint {
  readonly hint?: string
  readonly cause?: unknown
}

export abstract class HoldfastError extends Error {
  readonly code: string
  readonly hint: string | undefined

  constructor(code: string, message: string, options: ErrorOptionsWithHint = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.hint = options.hint
  }
}

/** Asked for something that is not there. */
export class NotFoundError extends HoldfastError {}

/** The state of things does not allow it; asking again unchanged will not help. */
export class ConflictError extends HoldfastError {}

/** Whoever asks is not known here any more. */
export class UnauthorizedError extends HoldfastError {}

/** Whoever asks has no right to it; the hint says who gives it. */
export class ForbiddenError extends HoldfastError {}

/** The input is wrong; `field` names the part of it. */
export class InvalidInputError extends HoldfastError {
  readonly field: string

  constructor(code: string, field: string, message: string, options: ErrorOptionsWithHint = {}) {
    super(code, message, options)
    this.field = field
  }
}

/** The store cannot be reached or used now; whether it did it may be unknown, later may work. */
export class StoreUnavailableError extends HoldfastError {}

/**
 * The store is there, but others held what was wanted for too long. Nothing was changed. Not a
 * reason to fail open: whoever holds it is probably at the same work.
 */
export class StoreContendedError extends HoldfastError {}

/**
 * GitHub did not let us find out whether something was published: neither yes nor no. Publish
 * nothing now; asking again later may work.
 */
export class OutputUnknownError extends HoldfastError {}

/** The program cannot start or go on like this; a person has to change something. */
export class SetupError extends HoldfastError {}

export function runNotFound(runId: string): NotFoundError {
  return new NotFoundError('run_not_found', `there is no run ${runId}`, {
    hint: 'It may be past its retention. List what there is with GET /v1/runs.',
  })
}

export function deliveryNotFound(id: string): NotFoundError {
  return new NotFoundError('delivery_not_found', `there is no delivery ${id}`, {
    hint: 'It may be past its retention. List what there is with GET /v1/deliveries.',
  })
}
