/** Issues and pull requests, as GitHub writes them. */
import { isLive } from '../state/comments.ts'
import { fullNameOf } from '../state/repositories.ts'
import type { Pull, Thread } from '../state/threads.ts'
import type { World } from '../state/world.ts'
import { associationOf } from './association.ts'
import { nodeId, noReactions, siteUrl, type Json } from './json.ts'
import { labelJson, repositoryJson, repositoryUrl } from './repository-json.ts'
import { userJson } from './user-json.ts'

export const threadPage = ({ repository, number, pull }: Thread): string =>
  `${siteUrl}/${fullNameOf(repository)}/${pull === null ? 'issues' : 'pull'}/${number}`

export const issueUrl = ({ repository, number }: Thread): string =>
  `${repositoryUrl(repository)}/issues/${number}`

export const pullUrl = ({ repository, number }: Thread): string =>
  `${repositoryUrl(repository)}/pulls/${number}`

/** The fields that an issue and a pull request have in common. */
function sharedJson(world: World, thread: Thread): Json {
  return {
    number: thread.number,
    state: thread.state,
    locked: thread.locked,
    title: thread.title,
    user: userJson(thread.author),
    body: thread.body,
    labels: thread.labels.map((label) => labelJson(thread.repository, label)),
    milestone: null,
    assignee: null,
    assignees: [],
    active_lock_reason: null,
    created_at: world.stamp(thread.createdAt),
    updated_at: world.stamp(thread.updatedAt),
    closed_at: thread.closedAt === null ? null : world.stamp(thread.closedAt),
    author_association: associationOf(world, thread.repository, thread.author),
    comments_url: `${issueUrl(thread)}/comments`,
    html_url: threadPage(thread),
  }
}

export function issueJson(world: World, thread: Thread): Json {
  const url = issueUrl(thread)
  const { pull } = thread
  return {
    ...sharedJson(world, thread),
    id: thread.id,
    node_id: nodeId(pull === null ? 'I' : 'PR', thread.id),
    url,
    repository_url: repositoryUrl(thread.repository),
    labels_url: `${url}/labels{/name}`,
    events_url: `${url}/events`,
    timeline_url: `${url}/timeline`,
    comments: thread.comments.filter(isLive).length,
    closed_by: thread.closedBy === null ? null : userJson(thread.closedBy),
    performed_via_github_app: null,
    reactions: noReactions(url),
    state_reason: thread.state === 'closed' && pull === null ? 'completed' : null,
    ...(pull !== null && {
      draft: pull.draft,
      pull_request: {
        url: pullUrl(thread),
        html_url: threadPage(thread),
        diff_url: `${threadPage(thread)}.diff`,
        patch_url: `${threadPage(thread)}.patch`,
        merged_at: pull.mergedAt === null ? null : world.stamp(pull.mergedAt),
      },
    }),
  }
}

/** As in a list. */
export function simplePullJson(world: World, thread: Thread, pull: Pull): Json {
  const { repository } = thread
  const url = pullUrl(thread)
  const page = threadPage(thread)
  const issue = issueUrl(thread)
  const statuses = `${repositoryUrl(repository)}/statuses/${pull.headSha}`
  const reviewComment = `${repositoryUrl(repository)}/pulls/comments{/number}`
  const side = (ref: string, sha: string): Json => ({
    label: `${repository.owner.login}:${ref}`,
    ref,
    sha,
    user: userJson(repository.owner),
    repo: repositoryJson(world, repository),
  })
  return {
    ...sharedJson(world, thread),
    url,
    id: pull.id,
    node_id: nodeId('PR', pull.id),
    diff_url: `${page}.diff`,
    patch_url: `${page}.patch`,
    issue_url: issue,
    commits_url: `${url}/commits`,
    review_comments_url: `${url}/comments`,
    review_comment_url: reviewComment,
    statuses_url: statuses,
    merged_at: pull.mergedAt === null ? null : world.stamp(pull.mergedAt),
    merge_commit_sha: null,
    requested_reviewers: [],
    requested_teams: [],
    head: side(pull.headRef, pull.headSha),
    base: side(pull.baseRef, pull.baseSha),
    _links: {
      self: { href: url },
      html: { href: page },
      issue: { href: issue },
      comments: { href: `${issue}/comments` },
      review_comments: { href: `${url}/comments` },
      review_comment: { href: reviewComment },
      commits: { href: `${url}/commits` },
      statuses: { href: statuses },
    },
    auto_merge: null,
    draft: pull.draft,
  }
}

export function pullJson(world: World, thread: Thread, pull: Pull): Json {
  const isMerged = pull.mergedAt !== null
  return {
    ...simplePullJson(world, thread, pull),
    merged: isMerged,
    mergeable: isMerged ? null : true,
    rebaseable: isMerged ? null : true,
    mergeable_state: isMerged ? 'unknown' : 'clean',
    merged_by: isMerged && thread.closedBy !== null ? userJson(thread.closedBy) : null,
    comments: thread.comments.filter(isLive).length,
    review_comments: pull.reviews.reduce((sum, { comments }) => sum + comments.length, 0),
    maintainer_can_modify: false,
    commits: 1,
    additions: pull.files.reduce((sum, { additions }) => sum + additions, 0),
    deletions: pull.files.reduce((sum, { deletions }) => sum + deletions, 0),
    changed_files: pull.files.length,
  }
}
