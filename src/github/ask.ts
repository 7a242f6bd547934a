/**
 * One question to GitHub: credentials, call, and an answer of the form we asked for.
 *
 * What must hold: after a 401 the call is repeated once with new credentials, never twice. An
 * answer of another form counts as no answer.
 */
import type { z } from 'zod'
import type { Reply } from '../github.ts'
import type { Actor, Credentials } from './credentials/credentials.ts'
import { GitHubError, isGitHubError, trouble } from './errors.ts'
import type { Send } from './transport.ts'

export type Ask = <T>(
  actor: Actor,
  form: z.ZodType<T>,
  /** Method and path template. */
  route: string,
  parameters?: Readonly<Record<string, unknown>>,
  /** A time on the monotonic clock. Without it, the request may be sent at any time. */
  sendBy?: number,
) => Promise<Reply<T>>

export function createAsk(send: Send, credentials: Credentials): Ask {
  return async (actor, form, route, parameters, sendBy) => {
    const first = await credentials.authorization(actor)
    try {
      return await askAs(first)
    } catch (error) {
      if (isGitHubError(error, 'not_found')) credentials.onNotFound(actor)
      if (!isGitHubError(error, 'unauthorized') || first === null) throw error
      if (!credentials.onRefused(actor, first)) throw error
    }
    return await askAs(await credentials.authorization(actor))

    async function askAs(authorization: string | null) {
      const answer = await send(route, parameters ?? {}, authorization, sendBy)
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
