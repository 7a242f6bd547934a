/** Commit statuses, one by one and combined, as GitHub writes them. */
import type { Repository } from '../state/repositories.ts'
import { currentStatuses, type Status } from '../state/statuses.ts'
import type { World } from '../state/world.ts'
import { nodeId, type Json } from './json.ts'
import { minimalRepositoryJson, repositoryUrl } from './repository-json.ts'
import { userJson } from './user-json.ts'

function simpleStatusJson(world: World, repository: Repository, status: Status): Json {
  return {
    url: `${repositoryUrl(repository)}/statuses/${status.sha}`,
    avatar_url: `https://avatars.githubusercontent.com/u/${status.creator.id}?v=4`,
    id: status.id,
    node_id: nodeId('SC', status.id),
    state: status.state,
    description: status.description,
    target_url: status.targetUrl,
    context: status.context,
    created_at: world.stamp(status.createdAt),
    updated_at: world.stamp(status.createdAt),
  }
}

export function statusJson(world: World, repository: Repository, status: Status): Json {
  return {
    ...simpleStatusJson(world, repository, status),
    creator: userJson(status.creator),
  }
}

/** Lists the statuses of one page; `state` and counts are about all of them. */
export function combinedStatusJson(
  world: World,
  repository: Repository,
  sha: string,
  all: readonly Status[],
  page: readonly Status[],
): Json {
  const current = currentStatuses(all)
  const url = `${repositoryUrl(repository)}/commits/${sha}`
  return {
    state: combinedState(current),
    statuses: page.map((status) => simpleStatusJson(world, repository, status)),
    sha,
    total_count: current.length,
    repository: minimalRepositoryJson(repository),
    commit_url: url,
    url: `${url}/status`,
  }
}

function combinedState(current: readonly Status[]): 'failure' | 'pending' | 'success' {
  const has = (...states: readonly string[]): boolean =>
    current.some(({ state }) => states.includes(state))
  if (has('error', 'failure')) return 'failure'
  return current.length === 0 || has('pending') ? 'pending' : 'success'
}

/** The branches that have this commit as their head. */
export function branchJson(repository: Repository, sha: string): Json[] {
  const refs = [...repository.threads.values()].flatMap(({ pull }) =>
    pull?.headSha === sha ? [pull.headRef] : [],
  )
  const url = `${repositoryUrl(repository)}/commits/${sha}`
  return refs.map((name) => ({ name, commit: { sha, url }, protected: false }))
}
