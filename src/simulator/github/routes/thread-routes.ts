/** Issues and pull requests, read only: people create and change them. */
import { pullFileJson } from '../json/pull-file-json.ts'
import { issueJson, pullJson, simplePullJson } from '../json/thread-json.ts'
import { pageOf } from '../paging.ts'
import { unprocessable } from '../refusal.ts'
import { canSeeCommit } from '../state/repositories.ts'
import type { Pull, Thread } from '../state/threads.ts'
import { pullThreadOf, repositoryOf, threadOf } from './resources.ts'
import type { Call, Route } from './route.ts'

const readPulls = { permission: ['pull_requests'], access: 'read' } as const
const readIssues = { permission: ['issues', 'pull_requests'], access: 'read' } as const

export const threadRoutes: readonly Route[] = [
  {
    route: 'GET /repos/{owner}/{repo}/pulls',
    docs: 'pulls/pulls#list-pull-requests',
    handle: (call) => {
      const { items, headers } = pageOf(call.request, listedPulls(call))
      const body = items.map((thread) => simplePullJson(call.world, thread, thread.pull))
      return { status: 200, body, headers }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/pulls/{pull_number}',
    docs: 'pulls/pulls#get-a-pull-request',
    handle: (call) => {
      const thread = pullThreadOf(call, readPulls)
      return { status: 200, body: pullJson(call.world, thread, thread.pull) }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/pulls/{pull_number}/files',
    docs: 'pulls/pulls#list-pull-requests-files',
    handle: (call) => {
      const thread = pullThreadOf(call, readPulls)
      const { items, headers } = pageOf(call.request, thread.pull.files)
      const body = items.map((file) => pullFileJson(thread, thread.pull, file))
      return { status: 200, body, headers }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls',
    docs: 'commits/commits#list-pull-requests-associated-with-a-commit',
    handle: (call) => {
      const { items, headers } = pageOf(call.request, pullsOfCommit(call))
      const body = items.map((thread) => simplePullJson(call.world, thread, thread.pull))
      return { status: 200, body, headers }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/issues/{issue_number}',
    docs: 'issues/issues#get-an-issue',
    handle: (call) => ({ status: 200, body: issueJson(call.world, threadOf(call, readIssues)) }),
  },
]

type PullThread = Thread & { readonly pull: Pull }
const isPull = (thread: Thread): thread is PullThread => thread.pull !== null

/** As on GitHub, open and merged ones: one that was closed without a merge is not listed. */
function pullsOfCommit(call: Call): PullThread[] {
  const repository = repositoryOf(call, readPulls)
  const sha = call.params['commit_sha'] ?? ''
  if (!canSeeCommit(call.world, repository, sha)) {
    throw unprocessable(`No commit found for SHA: ${sha}`)
  }
  return [...repository.threads.values()]
    .filter(isPull)
    .filter(({ state, pull }) => state === 'open' || pull.mergedAt !== null)
    .filter(({ pull }) => pull.headSha === sha)
}

function listedPulls(call: Call): PullThread[] {
  const { query } = call.request
  const repository = repositoryOf(call, readPulls)
  const state = query.get('state') ?? 'open'
  const [head, base] = [query.get('head'), query.get('base')]
  const pulls = [...repository.threads.values()]
    .filter(isPull)
    .filter((thread) => state === 'all' || thread.state === state)
    .filter(({ pull }) => head === null || head === `${repository.owner.login}:${pull.headRef}`)
    .filter(({ pull }) => base === null || base === pull.baseRef)
  const sort = query.get('sort') ?? 'created'
  const direction = query.get('direction') ?? (sort === 'created' ? 'desc' : 'asc')
  const timeOf = (thread: Thread): number =>
    sort === 'updated' ? thread.updatedAt : thread.createdAt
  pulls.sort((a, b) => timeOf(a) - timeOf(b) || a.number - b.number)
  return direction === 'desc' ? pulls.reverse() : pulls
}
