/** Commit statuses. */
import type { Json } from '../json/json.ts'
import { combinedStatusJson, statusJson } from '../json/status-json.ts'
import { repositoryUrl } from '../json/repository-json.ts'
import { pageOf } from '../paging.ts'
import { invalid, notSupplied, unprocessable } from '../refusal.ts'
import { canSeeCommit, type Repository } from '../state/repositories.ts'
import {
  addStatus,
  currentStatuses,
  statusesOf,
  statusStates,
  type Status,
} from '../state/statuses.ts'
import { choiceField, fieldsOf, optionalText } from './fields.ts'
import { actorOf, isListed, repositoryOf } from './resources.ts'
import type { Call, Route } from './route.ts'

const read = { permission: ['statuses'], access: 'read' } as const
const write = { permission: ['statuses'], access: 'write', role: 'write' } as const

export const statusRoutes: readonly Route[] = [
  {
    route: 'POST /repos/{owner}/{repo}/statuses/{sha}',
    docs: 'commits/statuses#create-a-commit-status',
    handle: (call) => {
      const repository = repositoryOf(call, write)
      const { user } = actorOf(call)
      const fields = fieldsOf(call)
      const state = choiceField(fields, 'state', statusStates)
      if (state === null) throw notSupplied('state')
      const status = addStatus(call.world, repository, user, {
        sha: call.params['sha'] ?? '',
        state,
        context: optionalText(fields, 'context') ?? 'default',
        description: optionalText(fields, 'description'),
        targetUrl: targetUrlOf(fields),
      })
      const location = `${repositoryUrl(repository)}/statuses/${status.sha}`
      return {
        status: 201,
        body: statusJson(call.world, repository, status),
        headers: { location },
      }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/commits/{ref}/statuses',
    docs: 'commits/statuses#list-commit-statuses-for-a-reference',
    handle: (call) => {
      const repository = repositoryOf(call, read)
      const { items, headers } = pageOf(call.request, listedStatuses(call, repository).reverse())
      const body = items.map((status) => statusJson(call.world, repository, status))
      return { status: 200, body, headers }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/commits/{ref}/status',
    docs: 'commits/statuses#get-the-combined-status-for-a-specific-reference',
    handle: (call) => {
      const repository = repositoryOf(call, read)
      const all = listedStatuses(call, repository)
      const { items, headers } = pageOf(call.request, currentStatuses(all))
      const sha = call.params['ref'] ?? ''
      return {
        status: 200,
        body: combinedStatusJson(call.world, repository, sha, all, items),
        headers,
      }
    },
  },
]

/** Oldest first. */
function listedStatuses(call: Call, repository: Repository): Status[] {
  const sha = call.params['ref'] ?? ''
  if (!canSeeCommit(call.world, repository, sha)) {
    throw unprocessable(`No commit found for SHA: ${sha}`)
  }
  return statusesOf(repository, sha).filter(({ createdAt }) => isListed(call, createdAt))
}

function targetUrlOf(fields: Json): string | null {
  const url = optionalText(fields, 'target_url')
  if (url === null || /^https?:/.test(url)) return url
  const message = 'target_url must use http(s) scheme'
  throw invalid({ resource: 'Status', code: 'custom', field: 'target_url', message })
}
