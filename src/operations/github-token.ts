/** The holder of a run gets a token of GitHub for the run's repository. */
import {
  type GitHubTokenBody,
  type GitHubTokenView,
  githubTokenView,
} from '../contract/github-token.ts'
import { heldLeaseHash } from './caller.ts'
import { type WithId, operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'

/** An idempotency key is not used, because the answer must not be stored. Repeating it is safe. */
export const createGitHubToken = operation(
  { scopes: ['worker', 'run'], within: 'run' },
  async (
    { githubTokens }: Pick<OperationPorts, 'githubTokens' | 'store'>,
    caller,
    { id: runId, lease_token: token }: WithId & GitHubTokenBody,
  ): Promise<GitHubTokenView> => {
    const leaseHash = heldLeaseHash(caller, token)
    return githubTokenView(await githubTokens.issue({ runId, leaseHash, actor: caller.actor }))
  },
)
