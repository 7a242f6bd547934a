/** For the holder of a run: a token of GitHub for the run's repository. */
import { githubToken, githubTokenBody, holderConflicts, runParams } from '../../contract.ts'
import { createGitHubToken } from '../../operations/github-token.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'

export function githubTokenRoutes(app: App, deps: HttpDeps): void {
  app.post(
    '/v1/runs/:id/github-token',
    {
      config: {
        access: createGitHubToken.reach,
        conflicts: [...holderConflicts, 'github_token_unavailable', 'github_refused'],
        answers: {
          503:
            'The store or GitHub does not answer, or GitHub wants us to wait. Try again after ' +
            '`Retry-After` seconds.',
        },
      },
      schema: {
        operationId: 'createGitHubToken',
        tags: ['Work'],
        summary: 'Get a GitHub token',
        description:
          "A token of the GitHub App's installation, for the run's repository alone and with " +
          "the permissions of the run's type alone. It is valid for at least ten minutes when " +
          'you get it. GitHub does not end it when you lose the run, so stop using it then. ' +
          'The token is not stored: the repeat of a request gets a valid token, which may be ' +
          'another one, also with an `Idempotency-Key`.',
        params: runParams,
        body: githubTokenBody,
        response: { 200: githubToken },
      },
    },
    async (request, reply) => {
      const input = { ...request.params, ...request.body }
      return reply.code(200).send(await createGitHubToken(deps, callerOf(request), input))
    },
  )
}
