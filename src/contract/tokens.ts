/** Tokens in the API. The secret of a token is in one answer only: when it is created. */
import { z } from 'zod'
import { repositoryPattern } from '../domain/token-limits.ts'
import type { NewToken, Token } from '../store.ts'
import { didYouMeanValue } from '../validation/nearest.ts'
import { listOf, maybeTime, pagingQuery, time, timeView } from './answers.ts'
import { id, instant, line, positive, runType } from './fields.ts'

function wrongScope(given: string): string {
  const meant = didYouMeanValue(given, ['admin', 'operator', 'worker', 'read'])
  return ['must be admin, operator, worker, read or bot:CHANNEL', meant].filter(Boolean).join('. ')
}

export const tokenBody = z
  .strictObject({
    scope: z
      .string()
      .regex(/^(?:admin|operator|worker|read|bot:[a-z][a-z0-9-]{0,31})$/, {
        error: ({ input }) => wrongScope(String(input)),
      })
      .meta({
        examples: ['worker'],
        description:
          'What it may do. `admin`: everything. `operator`: read, cancel, rerun. `worker`: ' +
          'claim, lease and complete runs. `read`: read. `bot:CHANNEL`: deliver for one ' +
          'channel.',
      }),
    name: line(200).optional().describe('Who uses it; shown in lists.'),
    user_id: positive.optional().describe('The number of the person it acts for.'),
    repos: z
      .array(
        z
          .string()
          .toLowerCase()
          .regex(
            repositoryPattern,
            'must be OWNER/NAME, or OWNER/* for all names that begin like this',
          ),
      )
      .min(1, 'must name a repository; leave it out for all')
      .max(100, 'must be at most 100 repositories')
      .optional()
      .meta({
        examples: [['acme/*']],
        description:
          'Only these repositories: `owner/name` follows one through renames, `owner/*` means ' +
          'all that have such a name now. For the scopes operator, worker and read.',
      }),
    types: z
      .array(runType)
      .min(1, 'must name a type; leave it out for all')
      .max(100, 'must be at most 100 types')
      .optional()
      .describe('Only runs of these types. For the scopes operator, worker and read.'),
    expires_at: instant.optional().describe('When it expires. Default: never.'),
  })
  .superRefine(({ scope, repos, types }, context) => {
    if (['operator', 'worker', 'read'].includes(scope)) return
    for (const [field, given] of Object.entries({ repos, types })) {
      if (given === undefined) continue
      const message = `cannot limit the scope ${scope}; use operator, worker or read`
      context.addIssue({ code: 'custom', path: [field], message })
    }
  })

export const createdToken = z
  .strictObject({
    id: z.string().describe('Id of the token, for revoking it.'),
    token: z.string().describe('Send it as `Authorization: Bearer`. It is shown only once.'),
  })
  .register(z.globalRegistry, { id: 'CreatedToken' })

export const token = z
  .strictObject({
    id: z.string().describe('Id of the token, for revoking it.'),
    scope: z.string().describe('What it may do.'),
    name: z.string().nullable().describe('Who uses it.'),
    user_id: z.int().nullable().describe('The number of the person it acts for.'),
    repos: z.array(z.string()).nullable().describe('The repositories it is limited to.'),
    types: z.array(z.string()).nullable().describe('The run types it is limited to.'),
    created_at: time.describe('When it was made.'),
    expires_at: time.nullable().describe('When it expires; null if never.'),
    last_used_at: time.nullable().describe('When it was last used, to the minute.'),
  })
  .register(z.globalRegistry, { id: 'Token' })

export const tokenList = listOf(token)
export const tokenParams = z.strictObject({ id: id.describe('Id of the token.') })
export const tokensQuery = pagingQuery

export type TokenBody = z.infer<typeof tokenBody>
export type TokenList = z.infer<typeof tokenList>
export type CreatedTokenView = z.infer<typeof createdToken>
export type TokenView = z.infer<typeof token>

export function tokenView(token: Token): TokenView {
  const { limits, expiresAt, lastUsedAt } = token
  return {
    id: token.id,
    scope: token.scope,
    name: token.name,
    user_id: token.userId,
    repos: limits.repositories && limits.repositories.map(({ pattern }) => pattern),
    types: limits.types && [...limits.types],
    created_at: timeView(token.createdAt),
    expires_at: maybeTime(expiresAt),
    last_used_at: maybeTime(lastUsedAt),
  }
}

export function newTokenOf(body: TokenBody): Omit<NewToken, 'secret' | 'actor'> {
  return {
    scope: body.scope,
    name: body.name ?? null,
    userId: body.user_id ?? null,
    repos: body.repos ?? null,
    types: body.types ?? null,
    expiresAt: body.expires_at ?? null,
  }
}
