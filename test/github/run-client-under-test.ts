/**
 * The GitHub client of a run over a real connection, with a run that a test can take away and
 * blocks that it can read.
 */
import { ConflictError } from '../../src/errors.ts'
import type { IdentityBlocks } from '../../src/github.ts'
import type { GitHubOptions } from '../../src/github/create-github.ts'
import { runClient, type RunClientOptions, type RunGitHub } from '../../src/github/run-client.ts'
import { appCredentials, clientOf, ManualClock, type ManualScheduler } from './github-under-test.ts'

export const owner = 'acme'
export const repo = 'widgets'

export class HeldRun {
  readonly blocks = new Map<string, number>()
  readonly #stopping = new AbortController()
  /** Whether the lease is live by the clock of this process. */
  isLive = true
  #loss: ConflictError | null = null

  get options(): Pick<RunClientOptions, 'signal' | 'checkHeld' | 'ensureLive' | 'blocks'> {
    const blocks: IdentityBlocks = {
      blockedUntil: async (identity) => this.blocks.get(identity) ?? null,
      block: async (identity, until) => void this.blocks.set(identity, until),
    }
    return {
      signal: this.#stopping.signal,
      blocks,
      checkHeld: () => {
        if (this.#loss !== null) throw this.#loss
      },
      ensureLive: async () => {
        if (!this.isLive) this.lose()
        if (this.#loss !== null) throw this.#loss
      },
    }
  }

  /** A newer head takes over. */
  lose(): ConflictError {
    this.#loss = new ConflictError('superseded', 'run 1 was superseded')
    this.#stopping.abort(this.#loss)
    return this.#loss
  }

  /** The process stops, and the run is not lost yet. */
  stop(reason: Error): void {
    this.#stopping.abort(reason)
  }
}

/** `clock` is GitHub's clock too. */
export interface ClientOptions extends Partial<Omit<GitHubOptions, 'clock'>> {
  readonly clock?: ManualClock
}

export interface ClientUnderTest {
  readonly octokit: RunGitHub
  readonly held: HeldRun
  readonly clock: ManualClock
  readonly scheduler: ManualScheduler
  /** Everything that was logged. */
  readonly lines: readonly unknown[]
}

export async function clientUnderTest(
  url: string,
  { clock = new ManualClock(), ...given }: ClientOptions = {},
  over: Partial<RunClientOptions> = {},
): Promise<ClientUnderTest> {
  const { github, scheduler, lines } = clientOf(url, {
    credentials: appCredentials,
    clock,
    ...given,
  })
  const held = new HeldRun()
  const octokit = await runClient({
    connection: github,
    repository: { repo: `${owner}/${repo}`, repoGithubId: null },
    type: 'review',
    permissions: { contents: 'read', issues: 'read', pull_requests: 'read' },
    clock,
    ...held.options,
    ...over,
  })
  return { octokit, held, clock, scheduler, lines }
}

/** What a handler sees of a request that GitHub refused: Octokit's RequestError. */
export interface FailedRequest {
  readonly name: string
  readonly status: number
  readonly message: string
  readonly request: { readonly headers: Readonly<Record<string, unknown>> }
  readonly response?: {
    readonly headers: Readonly<Record<string, unknown>>
    readonly data: unknown
  }
}
