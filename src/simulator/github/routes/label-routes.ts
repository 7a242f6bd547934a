/** Labels of an issue or pull request. Adding a label twice changes nothing. */
import type { Json } from '../json/json.ts'
import { labelJson } from '../json/repository-json.ts'
import { pageOf } from '../paging.ts'
import { Refusal, wrongType } from '../refusal.ts'
import { addLabels, removeLabel } from '../state/labels.ts'
import type { Thread } from '../state/threads.ts'
import { fieldsOf } from './fields.ts'
import { actorOf, threadOf } from './resources.ts'
import type { Call, Route } from './route.ts'

const read = { permission: ['issues', 'pull_requests'], access: 'read' } as const
const write = { permission: ['issues', 'pull_requests'], access: 'write', role: 'triage' } as const

export const labelRoutes: readonly Route[] = [
  {
    route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/labels',
    docs: 'issues/labels#list-labels-for-an-issue',
    handle: (call) => {
      const { items, headers } = pageOf(call.request, labelsJson(threadOf(call, read)))
      return { status: 200, body: items, headers }
    },
  },
  {
    route: 'POST /repos/{owner}/{repo}/issues/{issue_number}/labels',
    docs: 'issues/labels#add-labels-to-an-issue',
    handle: (call) => {
      const thread = threadOf(call, write)
      addLabels(call.world, thread, namesOf(call), actorOf(call).user)
      return { status: 200, body: labelsJson(thread) }
    },
  },
  {
    route: 'DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}',
    docs: 'issues/labels#remove-a-label-from-an-issue',
    handle: (call) => {
      const thread = threadOf(call, write)
      if (removeLabel(call.world, thread, call.params['name'] ?? '', actorOf(call).user)) {
        return { status: 200, body: labelsJson(thread) }
      }
      throw new Refusal(404, { message: 'Label does not exist' })
    },
  },
]

const labelsJson = ({ repository, labels }: Thread): Json[] =>
  labels.map((label) => labelJson(repository, label))

/** Accepts `{"labels": ["a"]}` and `["a"]`. In both, a name may also be `{"name": "a"}`. */
function namesOf(call: Call): string[] {
  const given = Array.isArray(call.body) ? call.body : (fieldsOf(call)['labels'] ?? [])
  if (!Array.isArray(given)) throw wrongType('labels', given, 'an array')
  return given.map((label: unknown) => {
    const name = typeof label === 'object' && label !== null ? (label as Json)['name'] : label
    if (typeof name === 'string' && name !== '') return name
    throw wrongType('labels', name, 'a string')
  })
}
