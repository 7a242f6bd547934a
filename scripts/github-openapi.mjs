/**
 * `node scripts/github-openapi.mjs`: a person runs this when GitHub's description of its API has
 * changed. It takes the requests and webhooks of the simulator out of that description and writes
 * them to test/simulator/github-openapi.json. It writes the names of all webhook events and their
 * actions, and of all permissions and their levels, to src/settings/config-file. The whole
 * description is 400 MB unpacked, so it is fetched into a temporary folder and is not a dependency.
 * Text for people is left out. The schemas stay as they are.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { root, runChild } from './child.mjs'
import { fail } from './setup.mjs'

const operations = [
  'GET /user',
  'GET /users/{username}',
  'GET /app',
  'GET /app/installations',
  'POST /app/installations/{installation_id}/access_tokens',
  'GET /app/hook/config',
  'GET /app/hook/deliveries',
  'GET /app/hook/deliveries/{delivery_id}',
  'POST /app/hook/deliveries/{delivery_id}/attempts',
  'GET /rate_limit',
  ...[
    'GET ',
    'GET /installation',
    'GET /hooks',
    'GET /hooks/{hook_id}/deliveries',
    'GET /hooks/{hook_id}/deliveries/{delivery_id}',
    'POST /hooks/{hook_id}/deliveries/{delivery_id}/attempts',
    'GET /collaborators/{username}/permission',
    'GET /pulls',
    'GET /pulls/{pull_number}',
    'GET /pulls/{pull_number}/files',
    'GET /pulls/{pull_number}/reviews',
    'POST /pulls/{pull_number}/reviews',
    'GET /pulls/{pull_number}/reviews/{review_id}',
    'PUT /pulls/{pull_number}/reviews/{review_id}',
    'GET /pulls/{pull_number}/reviews/{review_id}/comments',
    'GET /issues/{issue_number}',
    'GET /issues/{issue_number}/comments',
    'POST /issues/{issue_number}/comments',
    'GET /issues/comments/{comment_id}',
    'PATCH /issues/comments/{comment_id}',
    'DELETE /issues/comments/{comment_id}',
    'GET /issues/{issue_number}/labels',
    'POST /issues/{issue_number}/labels',
    'DELETE /issues/{issue_number}/labels/{name}',
    'POST /statuses/{sha}',
    'GET /commits/{ref}/statuses',
    'GET /commits/{ref}/status',
    'GET /commits/{ref}/check-runs',
    'GET /commits/{commit_sha}/pulls',
    'POST /check-runs',
    'GET /check-runs/{check_run_id}',
    'PATCH /check-runs/{check_run_id}',
  ].map((operation) => operation.replace(' ', ' /repos/{owner}/{repo}')),
]

/** The webhooks with different schemas. All others have one of these, and each would add 30 KB. */
const webhooks = [
  ...['push', 'status', 'repository-renamed'],
  ...['check-run-created', 'check-run-completed', 'check-run-rerequested'],
  ...['issue-comment-created', 'issues-labeled'],
  ...['pull-request-opened', 'pull-request-reopened', 'pull-request-closed'],
  ...['pull-request-edited', 'pull-request-ready-for-review', 'pull-request-synchronize'],
]

/** Keys that only people and generators of clients need. */
const prose = /^(description|title|summary|examples?|externalDocs|tags|deprecated|default|x-.*)$/

const description = await fetchDescription()
fixInstallations()
const { title, version, license } = description.info
const schemas = new Map()
const slice = {
  openapi: description.openapi,
  info: { title, version, license },
  paths: cutPaths(),
  'x-webhooks': Object.fromEntries(webhooks.map((name) => [name, cutWebhook(name)])),
  components: { schemas: {} },
}
for (const name of [...schemas.keys()].toSorted()) {
  slice.components.schemas[name] = schemas.get(name)
}
const text = print(slice)
writeFileSync(join(root, 'test', 'simulator', 'github-openapi.json'), text)
console.log(`${version}: ${operations.length} operations, ${text.length} bytes`)

const events = actionsByEvent()
await writeSettings('github-events.ts', eventsText(events))
console.log(`${Object.keys(events).length} webhook events`)

const permissions = levelsByPermission()
await writeSettings('github-permissions.ts', permissionsText(permissions))
console.log(`${Object.keys(permissions).length} permissions`)

/** One file of the package, without unpacking the rest. */
async function fetchDescription() {
  const folder = mkdtempSync(join(tmpdir(), 'github-openapi-'))
  try {
    const target = ['--pack-destination', folder]
    const packed = await runChild('npm', ['pack', '@octokit/openapi', ...target], { quiet: true })
    if (packed.code !== 0) fail(packed.output)
    const [archive = ''] = readdirSync(folder)
    const file = ['package/generated/api.github.com.json']
    const read = await runChild('tar', ['-xzOf', join(folder, archive), ...file], { quiet: true })
    if (read.code !== 0) fail(read.output)
    return JSON.parse(read.output)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * In the description of this list, an account is a person and an enterprise at once, which is
 * impossible. The schema of one installation is right.
 */
function fixInstallations() {
  const listed = description.paths['/app/installations'].get.responses['200']
  const items = { $ref: '#/components/schemas/installation' }
  listed.content['application/json'].schema = { type: 'array', items }
}

function cutPaths() {
  const paths = {}
  for (const operation of operations) {
    const [method, path] = operation.split(' ')
    const found = description.paths[path]?.[method.toLowerCase()]
    if (found === undefined) fail(`GitHub describes no ${operation}`)
    paths[path] ??= {}
    paths[path][method.toLowerCase()] = cutOperation(found)
  }
  return paths
}

function cutOperation({ operationId, parameters = [], requestBody, responses }) {
  const query = parameters
    .map((parameter) => ('$ref' in parameter ? partAt(parameter.$ref) : parameter))
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, in: place, required, schema }) => ({ name, in: place, required, schema }))
  const answers = Object.entries(responses).map(([status, answer]) => {
    return [status, jsonOf('$ref' in answer ? partAt(answer.$ref) : answer)]
  })
  const body = requestBody && { requestBody: jsonOf(requestBody) }
  return withoutProse({
    operationId,
    parameters: query,
    ...body,
    responses: Object.fromEntries(answers),
  })
}

function cutWebhook(name) {
  const found = description['x-webhooks'][name]
  if (found === undefined) fail(`GitHub describes no webhook ${name}`)
  return { post: withoutProse({ requestBody: jsonOf(found.post.requestBody) }) }
}

/** A webhook's id is its event, a slash and its action. */
function actionsByEvent() {
  const events = {}
  for (const { post } of Object.values(description['x-webhooks'])) {
    const name = post.operationId.split('/')[0].replaceAll('-', '_')
    const found = actionsIn(post.requestBody.content['application/json'].schema)
    events[name] = [...new Set([...(events[name] ?? []), ...found])].toSorted()
  }
  return Object.fromEntries(Object.entries(events).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Some payloads are one of several forms, each with the same action. */
function actionsIn(schema) {
  const form = '$ref' in schema ? partAt(schema.$ref) : schema
  const action = form.properties?.action ?? {}
  const own = ('$ref' in action ? partAt(action.$ref) : action).enum ?? []
  const forms = [...(form.oneOf ?? []), ...(form.anyOf ?? []), ...(form.allOf ?? [])]
  return [...own, ...forms.flatMap(actionsIn)]
}

function eventsText(actions) {
  return `/**
 * GitHub's webhook events with their actions. The list is empty if an event has none. Made by
 * \`node scripts/github-openapi.mjs\` from GitHub's description of its API. A test compares it with
 * GitHub's examples.
 */
export const githubEvents: Readonly<Record<string, readonly string[]>> = ${JSON.stringify(actions)}
`
}

/** The permissions that an App can give to a token. */
function levelsByPermission() {
  const { properties } = description.components.schemas['app-permissions']
  const levels = Object.entries(properties).map(([name, { enum: values }]) => [name, values])
  return Object.fromEntries(levels.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function permissionsText(levels) {
  return `/**
 * GitHub's permissions with their levels. Made by \`node scripts/github-openapi.mjs\` from GitHub's
 * description of its API. A test compares it with that description.
 */
export const githubPermissions = ${JSON.stringify(levels)} as const
`
}

async function writeSettings(name, text) {
  const path = join(root, 'src', 'settings', 'config-file', name)
  writeFileSync(path, await format(text, { ...(await resolveConfig(path)), filepath: path }))
}

/** Only JSON: GitHub has other formats for clients that ask for them. */
function jsonOf({ content }) {
  const json = content?.['application/json']
  return json === undefined ? {} : { content: { 'application/json': { schema: json.schema } } }
}

function partAt(reference) {
  const [, , kind, name] = reference.split('/')
  return description.components[kind][name]
}

/**
 * Removes text for people, and adds every schema that the node names. Below `properties` the keys
 * are GitHub's field names, and `title` or `description` may be among them.
 */
function withoutProse(node, keysAreNames = false) {
  if (Array.isArray(node)) return node.map((item) => withoutProse(item))
  if (typeof node !== 'object' || node === null) return node
  if (typeof node.$ref === 'string') addSchema(node.$ref)
  const kept = Object.entries(node).filter(([key]) => keysAreNames || !prose.test(key))
  return Object.fromEntries(
    kept.map(([key, value]) => [key, withoutProse(value, !keysAreNames && key === 'properties')]),
  )
}

function addSchema(reference) {
  const [, , kind, name] = reference.split('/')
  if (kind !== 'schemas') fail(`${reference} is not a schema; extend this script to copy it`)
  if (schemas.has(name)) return
  // Set first: schemas may name each other in a circle.
  schemas.set(name, null)
  schemas.set(name, withoutProse(partAt(reference)))
}

/** A line for each thing with a name, so that a new version can be read as a difference. */
function print(value, depth = 0) {
  const isTree = depth < 3 && typeof value === 'object' && value !== null && !('$ref' in value)
  if (!isTree || Array.isArray(value)) return JSON.stringify(value)
  const lines = Object.entries(value).map(
    ([key, inner]) => `${JSON.stringify(key)}:${print(inner, depth + 1)}`,
  )
  return `{\n${lines.join(',\n')}\n}${depth === 0 ? '\n' : ''}`
}
