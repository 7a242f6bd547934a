/**
 * The one table from an error to what a caller sees: the status of an HTTP answer, and the exit of
 * a command. The class of an error decides, except for the codes that are listed here.
 */
import {
  ConflictError,
  ForbiddenError,
  GitHubUnavailableError,
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
  [GitHubUnavailableError, { status: 503, exit: 'failed' }],
  [StoreUnavailableError, { status: 503, exit: 'unreachable' }],
]

/** Also for an error in a server's answer, of which only the code is known. */
const kindOfCode: Readonly<Record<string, ProblemKind>> = {
  invalid_request: { status: 400, exit: 'wrongUsage' },
  invalid_value: { status: 422, exit: 'wrongUsage' },
  invalid_cursor: { status: 422, exit: 'wrongUsage' },
}

/** Returns null for an error that is not Holdfast's. The caller sees no details of it. */
export function problemKindOf(error: unknown): ProblemKind | null {
  if (!(error instanceof HoldfastError)) return null
  const own = Object.hasOwn(kindOfCode, error.code) ? kindOfCode[error.code] : undefined
  return own ?? kindOfClass.find(([type]) => error instanceof type)?.[1] ?? null
}
