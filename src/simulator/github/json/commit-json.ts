/** A commit, as GitHub writes it. The simulator knows only its SHA. */
import { fullNameOf, type Repository } from '../state/repositories.ts'
import type { World } from '../state/world.ts'
import { nodeId, siteUrl, type Json } from './json.ts'
import { repositoryUrl } from './repository-json.ts'
import { userJson } from './user-json.ts'

export function commitJson(world: World, repository: Repository, sha: string): Json {
  const url = `${repositoryUrl(repository)}/commits/${sha}`
  const git = `${repositoryUrl(repository)}/git`
  const { owner } = repository
  const signature = {
    name: owner.login,
    email: `${owner.login}@users.noreply.github.com`,
    date: world.stamp(repository.commits.get(sha) ?? repository.createdAt),
  }
  return {
    sha,
    node_id: nodeId('C', repository.id),
    commit: {
      author: signature,
      committer: signature,
      message: 'Change',
      tree: { sha, url: `${git}/trees/${sha}` },
      url: `${git}/commits/${sha}`,
      comment_count: 0,
      verification: {
        verified: false,
        reason: 'unsigned',
        signature: null,
        payload: null,
        verified_at: null,
      },
    },
    url,
    html_url: `${siteUrl}/${fullNameOf(repository)}/commit/${sha}`,
    comments_url: `${url}/comments`,
    author: userJson(owner),
    committer: userJson(owner),
    parents: [],
  }
}
