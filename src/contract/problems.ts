/**
 * The one table from an error to what a caller sees of it: the status of an HTTP answer, and how a
 * command ends. The class decides; a code is more than its class only where it says so here.
 */
import {
  ConflictError,
  ForbiddenError,
  HoldfastError,
  InvalidInputError,
  NotFoundError,
  StoreContendedError,
  StoreUnavailableError,
  UnauthorizedError,
} from '../errors.ts'

export interface ProblemKind {
  readonly status: number
  readonly exit: 'failed' | 'wrongUsage' | 'unreachable'
}

const kindOfClass: readonly (readonly [abstract new (...args: never[]) => Error, ProblemKind])[] = [
  [UnauthorizedError, { status: 401, exit: 'failed' }],
  [ForbiddenError, { status: 403, exit: 'failed' }],
  [NotFoundError, { status: 404, exit: 'failed' }],
  [ConflictError, { status: 409, exit: 'failed' }],
  [InvalidInputError, { status: 422, exit: 'wrongUsage' }],
  [StoreContendedError, { status: 503, exit: 'failed' }],
  [StoreUnavailableError, { status: 503, exit: 'unreachable' }],
]

/** Also for an error that a server answered, of which only the code is known. */
const kindOfCode: Readonly<Record<string, ProblemKind>> = {
  invalid_request: { status: 400, exit: 'wrongUsage' },
  invalid_value: { status: 422, exit: 'wrongUsage' },
  invalid_cursor: { status: 422, exit: 'wrongUsage' },
}

/** Null for what is not an error of ours: the caller is told nothing about it. */
export function problemKindOf(error: unknown): ProblemKind | null {
  if (!(error instanceof HoldfastError)) return null
  const own = Object.hasOwn(kindOfCode, error.code) ? kindOfCode[error.code] : undefined
  return own ?? kindOfClass.find(([type]) => error instanceof type)?.[1] ?? null
}
