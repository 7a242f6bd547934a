/**
 * Errors, by what to do about them. The class says whether to try again, the `code` is for
 * programs, the message says what is wrong and the hint what to do. No error ever contains a
 * secret.
 */

interface ErrorOptionsWithHint {
  readonly hint?: string
  readonly cause?: unknown
}

interface ConflictOptions extends ErrorOptionsWithHint {
  readonly members?: Readonly<Record<string, string | number>>
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

/** The thing that was asked for does not exist. */
export class NotFoundError extends HoldfastError {}

/** The present state does not allow it. Repeating the same call does not help. */
export class ConflictError extends HoldfastError {
  /** What a program needs to go on, by the names of JSON. */
  readonly members: Readonly<Record<string, string | number>>

  constructor(code: string, message: string, options: ConflictOptions = {}) {
    super(code, message, options)
    this.members = options.members ?? {}
  }
}

/** The caller's token is no longer valid. */
export class UnauthorizedError extends HoldfastError {}

/** The caller has no right to it. The hint says how to get that right. */
export class ForbiddenError extends HoldfastError {}

/** The input is invalid; `field` names the part. */
export class InvalidInputError extends HoldfastError {
  readonly field: string

  constructor(code: string, field: string, message: string, options: ErrorOptionsWithHint = {}) {
    super(code, message, options)
    this.field = field
  }
}

/** The store cannot be reached or used now. The change may have been stored. Try again later. */
export class StoreUnavailableError extends HoldfastError {}

/**
 * The store can be reached, but others had locked the same rows for too long. Nothing was changed.
 * This is no reason to fail open, because somebody else is probably doing the same work.
 */
export class StoreContendedError extends HoldfastError {}

/** The same request may succeed later. */
export function isStoreAway(error: unknown): error is StoreUnavailableError | StoreContendedError {
  return error instanceof StoreUnavailableError || error instanceof StoreContendedError
}

/**
 * So often a request is tried that the store answers with an error of another kind. It may be a
 * short fault, or something in the request that the store never takes.
 */
export const oddErrorsMax = 5

/**
 * GitHub could not be asked whether something was published, so it may be published or not. Publish
 * nothing now, and ask again later.
 */
export class OutputUnknownError extends HoldfastError {}

/** GitHub did not answer, or wants us to wait. Nothing was done. Try again after `retryAfterMs`. */
export class GitHubUnavailableError extends HoldfastError {
  readonly retryAfterMs: number

  constructor(code: string, message: string, retryAfterMs: number) {
    super(code, message)
    this.retryAfterMs = retryAfterMs
  }
}

/** The program cannot start or continue. A person has to change something. */
export class SetupError extends HoldfastError {}

export function runNotFound(runId: string): NotFoundError {
  return new NotFoundError('run_not_found', `there is no run ${runId}`, {
    hint: 'It may be past its retention. List what there is with GET /v1/runs.',
  })
}

export function stepNotFound(runId: string, name: string): NotFoundError {
  return new NotFoundError('step_not_found', `run ${runId} has no step "${name}" in this round`, {
    hint: 'A step exists after its holder has begun it. Check the name and the run.',
  })
}

export function deliveryNotFound(id: string): NotFoundError {
  return new NotFoundError('delivery_not_found', `there is no delivery ${id}`, {
    hint: 'It may be past its retention. List what there is with GET /v1/deliveries.',
  })
}
