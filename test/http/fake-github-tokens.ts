/** Fake tokens of GitHub for the HTTP tests. */
import { NotFoundError } from '../../src/errors.ts'
import type { RunGitHubTokens } from '../../src/runs/github-token.ts'
import { startedAt } from './fake-facts.ts'
import type { Fakes } from './fakes.ts'

export const githubToken = 'ghs_a-secret-of-github'

export function fakeGitHubTokens(
  state: Pick<Fakes, 'run' | 'changes' | 'failure'>,
): RunGitHubTokens {
  return {
    async issue({ actor, ...request }) {
      if (state.failure !== null) throw state.failure
      const { runId } = request
      if (runId !== state.run.id) throw new NotFoundError('run_not_found', `no run ${runId}`)
      state.changes.push({ verb: 'githubToken', request, actor, once: undefined })
      return {
        token: githubToken,
        expiresAt: startedAt + 3_600_000,
        permissions: { contents: 'read', metadata: 'read' },
        repository: { githubId: 42, name: 'Acme/Widgets' },
      }
    },
  }
}
