/** A token with which the holder of a run asks GitHub itself, in the API. */
import { z } from 'zod'
import type { IssuedGitHubToken } from '../runs/github-token.ts'
import { time, timeView } from './answers.ts'
import { holderFields } from './runs.ts'

export const githubTokenBody = z.strictObject(holderFields).optional()

export const githubToken = z
  .strictObject({
    token: z
      .string()
      .describe(
        'A secret. Send it to GitHub as `Authorization: Bearer TOKEN`, or use it with git.',
      ),
    expires_at: time.describe('When GitHub stops accepting it. Ask for another before.'),
    permissions: z
      .record(z.string(), z.string())
      .describe("What it may do, by GitHub's names of permissions, and always `metadata`."),
    repositories: z
      .array(z.string())
      .describe("What it reaches: only the run's repository, as `owner/name`."),
  })
  .register(z.globalRegistry, { id: 'GitHubToken' })

export type GitHubTokenBody = NonNullable<z.infer<typeof githubTokenBody>>
export type GitHubTokenView = z.infer<typeof githubToken>

export function githubTokenView(made: IssuedGitHubToken): GitHubTokenView {
  const { token, expiresAt, permissions, repository } = made
  const repositories = [repository.name]
  return { token, expires_at: timeView(expiresAt), permissions, repositories }
}
