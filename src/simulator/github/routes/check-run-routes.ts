/** Check runs. Only an App can write them. */
import type { Json } from '../json/json.ts'
import { checkRunJson } from '../json/check-run-json.ts'
import { pageOf } from '../paging.ts'
import { forbidden, invalid, notSupplied, unprocessable } from '../refusal.ts'
import {
  addCheckRun,
  changeCheckRun,
  checkConclusions,
  checkStatuses,
  type CheckChange,
  type CheckRun,
} from '../state/check-runs.ts'
import { canSeeCommit } from '../state/repositories.ts'
import type { User } from '../state/users.ts'
import {
  choiceField,
  fieldsOf,
  listField,
  optionalText,
  optionalTime,
  textField,
} from './fields.ts'
import { checkRunOf, isListed, repositoryOf } from './resources.ts'
import type { Call, Route } from './route.ts'

const read = { permission: ['checks'], access: 'read' } as const
const write = { permission: ['checks'], access: 'write' } as const

const annotationsPerCallMax = 50
const outputCharactersMax = 65_535

export const checkRunRoutes: readonly Route[] = [
  {
    route: 'POST /repos/{owner}/{repo}/check-runs',
    docs: 'checks/runs#create-a-check-run',
    handle: (call) => {
      const bot = botOf(call)
      const repository = repositoryOf(call, write)
      const fields = fieldsOf(call)
      const name = textField(fields, 'name')
      const change = changeOf(call, fields)
      const headSha = textField(fields, 'head_sha')
      const run = addCheckRun(call.world, repository, bot, headSha, { ...change, name })
      return { status: 201, body: checkRunJson(call.world, run) }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/check-runs/{check_run_id}',
    docs: 'checks/runs#get-a-check-run',
    handle: (call) => ({ status: 200, body: checkRunJson(call.world, checkRunOf(call, read)) }),
  },
  {
    route: 'PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}',
    docs: 'checks/runs#update-a-check-run',
    handle: (call) => {
      const bot = botOf(call)
      const run = checkRunOf(call, write)
      changeCheckRun(call.world, run, bot, changeOf(call, fieldsOf(call)))
      return { status: 200, body: checkRunJson(call.world, run) }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/commits/{ref}/check-runs',
    docs: 'checks/runs#list-check-runs-for-a-git-reference',
    handle: (call) => {
      const runs = listedRuns(call)
      const { items, headers } = pageOf(call.request, runs)
      const check_runs = items.map((run) => checkRunJson(call.world, run))
      return { status: 200, body: { total_count: runs.length, check_runs }, headers }
    },
  },
]

function botOf({ identity }: Call): User {
  if (identity.kind === 'installation') return identity.user
  throw forbidden('You must authenticate via a GitHub App.')
}

/** Newest first; only the newest of each name, unless the request asks for all. */
function listedRuns(call: Call): CheckRun[] {
  const repository = repositoryOf(call, read)
  const { query } = call.request
  const sha = call.params['ref'] ?? ''
  if (!canSeeCommit(call.world, repository, sha)) {
    throw unprocessable(`No commit found for SHA: ${sha}`)
  }
  const [name, status, appId] = [query.get('check_name'), query.get('status'), query.get('app_id')]
  const runs = repository.checkRuns
    .filter((run) => run.headSha === sha && isListed(call, run.createdAt))
    .filter((run) => name === null || run.name === name)
    .filter(() => appId === null || appId === String(call.world.app?.id))
    .reverse()
  const selectedRuns =
    query.get('filter') === 'all'
      ? runs
      : runs.filter((run) => runs.find((each) => each.name === run.name) === run)
  return selectedRuns.filter((run) => status === null || run.status === status)
}

function changeOf({ world }: Call, fields: Json): CheckChange {
  const name = optionalText(fields, 'name')
  const status = choiceField(fields, 'status', checkStatuses)
  const conclusion = choiceField(fields, 'conclusion', checkConclusions)
  const externalId = optionalText(fields, 'external_id')
  const detailsUrl = optionalText(fields, 'details_url')
  const startedAt = optionalTime(fields, 'started_at')
  const completedAt = optionalTime(fields, 'completed_at')
  if (status === 'completed' && conclusion === null) throw notSupplied('conclusion')
  return {
    ...(name !== null && { name }),
    ...(status !== null && { status }),
    ...(conclusion !== null && { conclusion }),
    ...(externalId !== null && { externalId }),
    ...(detailsUrl !== null && { detailsUrl }),
    ...(startedAt !== null && { startedAt: startedAt - world.aheadMs }),
    ...(completedAt !== null && { completedAt: completedAt - world.aheadMs }),
    ...outputOf(fields['output']),
  }
}

function outputOf(given: unknown): Pick<CheckChange, 'output' | 'addedAnnotations'> {
  if (given == null) return { addedAnnotations: 0 }
  const fields = fieldsOf({ body: given })
  const output = {
    title: optionalText(fields, 'title'),
    summary: textField(fields, 'summary'),
    text: optionalText(fields, 'text'),
  }
  for (const field of ['summary', 'text'] as const) {
    const length = output[field]?.length ?? 0
    if (length <= outputCharactersMax) continue
    const message = `Only ${outputCharactersMax} characters are allowed; ${length} were supplied.`
    throw invalid({ resource: 'CheckRun', code: 'invalid', field, message })
  }
  const annotations = listField(fields, 'annotations')
  if (annotations.length > annotationsPerCallMax) {
    const most = `No more than ${annotationsPerCallMax} items are allowed`
    throw unprocessable(`Invalid request.\n\n${most}; ${annotations.length} were supplied.`)
  }
  return { output, addedAnnotations: annotations.length }
}
