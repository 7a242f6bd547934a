/**
 * Runs in a real store, tokens for their holders, and a simulated GitHub with an App: all with one
 * clock, which only a test moves.
 */
import { githubDeclarations } from '../../src/channels/github-channels.ts'
import type { GitHubPermissions } from '../../src/domain/github-permissions.ts'
import type { GitHubConnection } from '../../src/github.ts'
import { createRunGitHubTokens, type RunGitHubTokens } from '../../src/runs/github-token.ts'
import { createIdentityBlocks } from '../../src/runs/identity-blocks.ts'
import {
  createGitHubSimulator,
  type GitHubSimulator,
  type SimulatedAppOptions,
} from '../../src/simulator/index.ts'
import type { AuditRow } from '../../src/domain/audit.ts'
import type { ClaimAnswer, GitHubTokenNote, Store } from '../../src/store.ts'
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import { holderOf, jobClaim, pullRequestClaim } from '../conformance/claims.ts'
import { seededChance } from '../seed.ts'
import {
  appCredentials,
  appKeyPem,
  clientOf,
  ManualClock,
  ManualScheduler,
} from './github-under-test.ts'

export const repo = 'acme/widgets'
export const mintRoute = 'POST /app/installations/{installation_id}/access_tokens'
export const reading: GitHubPermissions = { contents: 'read', pull_requests: 'read' }

export type Hold = Pick<GitHubTokenNote, 'runId' | 'leaseHash' | 'actor'>

interface TokenWorldOptions {
  readonly app?: Partial<SimulatedAppOptions>
  /** Default: those of the App. */
  readonly credentials?: typeof appCredentials | { readonly token: string }
  readonly permissions?: GitHubPermissions
}

export class TokenWorld {
  readonly clock = new ManualClock()
  readonly simulator: GitHubSimulator
  readonly github: GitHubConnection
  readonly store: Store
  readonly tokens: RunGitHubTokens
  /** Everything that was logged. */
  readonly lines: readonly unknown[]

  constructor(options: TokenWorldOptions = {}) {
    const { clock } = this
    const app = { id: 12, slug: 'holdfast', privateKey: appKeyPem, ...options.app }
    this.simulator = createGitHubSimulator({ clock, app })
    this.simulator.addRepository(repo, { private: true })
    const credentials = options.credentials ?? appCredentials
    const { fetch } = this.simulator
    const client = clientOf('https://api.github.com', { credentials, clock, fetch })
    this.github = client.github
    this.lines = client.lines
    const machine = { clock, random: seededChance(), scheduler: new ManualScheduler() }
    this.store = openSqlite(
      { path: ':memory:', exclusive: true },
      { ...machine, channels: githubDeclarations },
    )
    this.tokens = this.tokensWith({}, options.permissions)
  }

  /** Tokens over a GitHub of which a test has changed something; null for the sandbox. */
  tokensWith(
    changed: Partial<GitHubConnection> | null,
    permissions: GitHubPermissions = reading,
  ): RunGitHubTokens {
    const { store, clock, github } = this
    return createRunGitHubTokens({
      github: changed && { ...github, ...changed },
      store,
      clock,
      blocks: createIdentityBlocks({ store, clock }),
      permissionsOf: () => permissions,
    })
  }

  get githubId(): number {
    return this.simulator.repository(repo).id
  }

  /** As when a webhook has named the repository. */
  async learnRepository(): Promise<void> {
    await this.store.repositories.learn(repo, this.githubId, 'now', 'github')
  }

  async claim(head = 'a', over: Parameters<typeof pullRequestClaim>[1] = {}): Promise<ClaimAnswer> {
    return await this.store.runs.claim(pullRequestClaim({ repo, pr: 5, head }, over), null)
  }

  async hold(...claim: Parameters<TokenWorld['claim']>): Promise<Hold> {
    return holdOf(await this.claim(...claim))
  }

  async holdJob(): Promise<Hold> {
    return holdOf(await this.store.runs.claim(jobClaim('nightly', 'nightly'), null))
  }

  /** How often GitHub was asked for a token. */
  get minted(): number {
    return this.simulator.count(mintRoute)
  }

  /** The audit rows about tokens, oldest first. */
  async notes(): Promise<readonly AuditRow[]> {
    const page = { limit: 100, cursor: null }
    const { items } = await this.store.audit.list({ type: 'run.github_token_issued' }, page)
    return items.toReversed()
  }
}

export function holdOf(answer: ClaimAnswer): Hold {
  const { runId, leaseHash, actor } = holderOf(answer)
  return { runId, leaseHash, actor }
}
