/**
 * `run.github`: the GitHub client of a run, made when its handler first uses it. Octokit was loaded
 * before, so a handler need not wait for it.
 */
import type { Clock } from '../../clock.ts'
import type { GitHubPermissions } from '../../domain/github-permissions.ts'
import { ConflictError } from '../../errors.ts'
import type { IdentityBlocks } from '../../github.ts'
import type { MakeRunClient, RunClientOptions, RunGitHub } from '../../github/run-client.ts'
import type { StorePart } from '../../store.ts'
import type { HandledRun } from './handled-run.ts'

export interface RunGitHubOptions {
  readonly makeClient: MakeRunClient
  readonly connection: RunClientOptions['connection']
  readonly permissionsOf: (type: string) => GitHubPermissions
  readonly blocks: IdentityBlocks
  readonly store: StorePart<{ repositories: 'get' }>
  readonly clock: Clock
}

/** Returns the function that makes the client, or one that says why there is none. */
export async function openRunGitHub(
  handled: HandledRun,
  options: RunGitHubOptions | null,
): Promise<() => RunGitHub> {
  const { signal, held } = handled
  const { run } = held
  const { repo, type, scope } = run
  const checkHeld = (): void => handled.checkOpen()
  const ensureLive = (): Promise<void> => handled.ensureLive()
  if (repo === null) return () => noClient('the run belongs to no repository')
  if (options === null) return () => noClient('the GitHub of a sandbox exists only in its server')
  const { makeClient, permissionsOf, store } = options
  const repository = await handled.askStore(() => store.repositories.get(scope))
  const place = { repo, repoGithubId: repository?.githubId ?? null }
  const blocks: IdentityBlocks = {
    blockedUntil: (identity) => handled.askStore(() => options.blocks.blockedUntil(identity)),
    block: (identity, until) => handled.askStore(() => options.blocks.block(identity, until)),
  }
  let made: RunGitHub | null = null
  return () => {
    checkHeld()
    const permissions = permissionsOf(type)
    const about = { repository: place, type, permissions, signal, checkHeld, ensureLive, blocks }
    made ??= makeClient({ ...options, ...about })
    return made
  }
}

function noClient(why: string): never {
  throw new ConflictError('no_github', `there is no run.github: ${why}`)
}
