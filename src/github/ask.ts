/**
 * One question to GitHub: credentials, call, and an answer of the form we asked for.
 *
 * What must hold: after a 401 the call is repeated once, with new credentials, and never twice. An
 * answer of another form is no answer.
 */
import type { Octokit } from '@octokit/core'
import type { z } from 'zod'
import type { Reply } from '../github.ts'
import type { Actor, Credentials } from './credentials.ts'
import { GitHubError, isGitHubError, trouble } from './errors.ts'

export type Ask = <T>(
  actor: Actor,
  form: z.ZodType<T>,
  /** Method and path template. */
  route: string,
  parameters?: Readonly<Record<string, unknown>>,
  /** On the monotonic clock; without it there is no hurry. */
  sendBy?: number,
) => Promise<Reply<T>>

export function createAsk(octokit: Octokit, credentials: Credentials): Ask {
  return async (actor, form, route, parameters, sendBy) => {
    const first = await credentials.authorization(actor)
    try {
      return await send(first)
    } catch (error) {
      if (isGitHubError(error, 'not_found')) credentials.unseen(actor)
      if (!isGitHubError(error, 'unauthorized') || first === null) throw error
      if (!credentials.refused(actor, first)) throw error
    }
    return await send(await credentials.authorization(actor))

    async function send(authorization: string | null) {
      const headers = authorization === null ? {} : { authorization }
      const answer = await octokit.request(route, { ...parameters, headers, request: { sendBy } })
      const answered = answer.headers
      const read = form.safeParse(answer.data)
      if (read.success) return { data: read.data, headers: answered }
      throw new GitHubError(trouble('unanswered', { failure: 'unexpected form' }), {
        route,
        status: answer.status,
        requestId: String(answered['x-request-id']),
        githubRequestId: answered['x-github-request-id'] ?? null,
      })
    }
  }
}
