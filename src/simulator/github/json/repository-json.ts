/** A repository and its labels, as GitHub writes them. */
import { fullNameOf, type Repository } from '../state/repositories.ts'
import type { Label } from '../state/labels.ts'
import type { World } from '../state/world.ts'
import { apiUrl, nodeId, siteUrl, type Json } from './json.ts'
import { userJson } from './user-json.ts'

/** Field → what follows the repository's own address. */
const addresses: Readonly<Record<string, string>> = {
  forks_url: '/forks',
  keys_url: '/keys{/key_id}',
  collaborators_url: '/collaborators{/collaborator}',
  teams_url: '/teams',
  hooks_url: '/hooks',
  issue_events_url: '/issues/events{/number}',
  events_url: '/events',
  assignees_url: '/assignees{/user}',
  branches_url: '/branches{/branch}',
  tags_url: '/tags',
  blobs_url: '/git/blobs{/sha}',
  git_tags_url: '/git/tags{/sha}',
  git_refs_url: '/git/refs{/sha}',
  trees_url: '/git/trees{/sha}',
  statuses_url: '/statuses/{sha}',
  languages_url: '/languages',
  stargazers_url: '/stargazers',
  contributors_url: '/contributors',
  subscribers_url: '/subscribers',
  subscription_url: '/subscription',
  commits_url: '/commits{/sha}',
  git_commits_url: '/git/commits{/sha}',
  comments_url: '/comments{/number}',
  issue_comment_url: '/issues/comments{/number}',
  contents_url: '/contents/{+path}',
  compare_url: '/compare/{base}...{head}',
  merges_url: '/merges',
  archive_url: '/{archive_format}{/ref}',
  downloads_url: '/downloads',
  issues_url: '/issues{/number}',
  pulls_url: '/pulls{/number}',
  milestones_url: '/milestones{/number}',
  notifications_url: '/notifications{?since,all,participating}',
  labels_url: '/labels{/name}',
  releases_url: '/releases{/id}',
  deployments_url: '/deployments',
}

export const repositoryUrl = (repository: Repository): string =>
  `${apiUrl}/repos/${fullNameOf(repository)}`

export function minimalRepositoryJson(repository: Repository): Json {
  const url = repositoryUrl(repository)
  return {
    id: repository.id,
    node_id: nodeId('R', repository.id),
    name: repository.name,
    full_name: fullNameOf(repository),
    private: repository.private,
    owner: userJson(repository.owner),
    html_url: `${siteUrl}/${fullNameOf(repository)}`,
    description: null,
    fork: false,
    url,
    ...Object.fromEntries(Object.entries(addresses).map(([name, path]) => [name, url + path])),
  }
}

export function repositoryJson(world: World, repository: Repository): Json {
  const name = fullNameOf(repository)
  const openIssues = [...repository.threads.values()].filter((each) => each.state === 'open').length
  return {
    ...minimalRepositoryJson(repository),
    created_at: world.stamp(repository.createdAt),
    updated_at: world.stamp(repository.createdAt),
    pushed_at: world.stamp(repository.pushedAt),
    git_url: `git://github.com/${name}.git`,
    ssh_url: `git@github.com:${name}.git`,
    clone_url: `${siteUrl}/${name}.git`,
    svn_url: `${siteUrl}/${name}`,
    homepage: null,
    size: 1,
    stargazers_count: 0,
    watchers_count: 0,
    language: null,
    has_issues: true,
    has_projects: true,
    has_downloads: true,
    has_wiki: true,
    has_pages: false,
    has_discussions: false,
    forks_count: 0,
    mirror_url: null,
    archived: false,
    disabled: false,
    open_issues_count: openIssues,
    license: null,
    allow_forking: true,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: repository.private ? 'private' : 'public',
    forks: 0,
    open_issues: openIssues,
    watchers: 0,
    default_branch: 'main',
  }
}

export function fullRepositoryJson(world: World, repository: Repository, permissions: Json): Json {
  return {
    ...repositoryJson(world, repository),
    permissions,
    allow_squash_merge: true,
    allow_merge_commit: true,
    allow_rebase_merge: true,
    allow_auto_merge: false,
    delete_branch_on_merge: false,
    allow_update_branch: false,
    temp_clone_token: '',
    network_count: 0,
    subscribers_count: 0,
    ...(repository.owner.type === 'Organization' && { organization: userJson(repository.owner) }),
  }
}

export function labelJson(repository: Repository, label: Label): Json {
  return {
    id: label.id,
    node_id: nodeId('LA', label.id),
    url: `${repositoryUrl(repository)}/labels/${encodeURIComponent(label.name)}`,
    name: label.name,
    color: label.color,
    default: false,
    description: '',
  }
}
