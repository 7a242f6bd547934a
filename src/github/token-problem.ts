/**
 * Why GitHub gave no token for a run, in words for whoever runs the server. Everybody who asks for
 * such a token gets the same words.
 */
import { permissionWords, type GitHubPermissions } from '../domain/github-permissions.ts'
import { ConflictError, GitHubUnavailableError } from '../errors.ts'
import type { GitHubError } from './errors.ts'

/** What was asked for. */
export interface AskedToken {
  /** The repository's name. */
  readonly repo: string
  /** The run's type. */
  readonly type: string
  readonly permissions: GitHubPermissions
}

/** The wait if GitHub names none. */
const retryMs = 1000

/** `nowMs` is our own clock's time. */
export function tokenProblem(
  error: GitHubError,
  asked: AskedToken,
  nowMs: number,
): ConflictError | GitHubUnavailableError {
  switch (error.kind) {
    case 'not_installed':
    case 'not_found':
    case 'gone':
      return refused(`The GitHub App is not installed for ${asked.repo}.`, installIt)
    case 'unauthorized':
    case 'forbidden':
      return refused('GitHub refuses the credentials of the GitHub App.', askDoctor)
    case 'invalid':
    case 'conflict':
      return refused(
        `GitHub gives no token for ${asked.repo} with ${permissionWords(asked.permissions)}.`,
        `Give the GitHub App these permissions and accept them in its installation, make sure ` +
          `that the installation includes ${asked.repo}, or ask for less in holdfast.config.ts: ` +
          `runs: { ${JSON.stringify(asked.type)}: { permissions: { … } } }`,
      )
    case 'rate_limited':
      return limited((error.until ?? nowMs + retryMs) - nowMs)
    case 'network':
    case 'unanswered':
    case 'too_late':
    case 'redirected':
      return new GitHubUnavailableError('github_unavailable', 'GitHub did not answer.', retryMs)
  }
}

/** GitHub set a limit, for this question or before. */
export function limited(waitMs: number): GitHubUnavailableError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  const message = `GitHub limits us and wants us to wait for ${seconds} s.`
  return new GitHubUnavailableError('github_limited', message, waitMs)
}

const installIt = 'Install it there, or add the repository to its installation on GitHub.'
const askDoctor = 'Run holdfast doctor: it says what is wrong with the credentials.'

function refused(message: string, hint: string): ConflictError {
  return new ConflictError('github_refused', message, { hint })
}
