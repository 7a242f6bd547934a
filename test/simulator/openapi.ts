/**
 * Checks answers of the simulator against GitHub's own API description. An answer must have a
 * status that GitHub describes and a body in its form, without any field that GitHub does not have:
 * a bot must find on GitHub everything that it relies on here.
 *
 * `watchAnswers` wraps a `fetch`, so that any test can check all answers. It collects problems and
 * does not throw: to the code under test, an error would look like a broken connection.
 */
import { Ajv2019, type ValidateFunction } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import { readFileSync } from 'node:fs'

type Schema = Readonly<Record<string, unknown>>

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly 'x-webhooks': Readonly<Record<string, { readonly post: Pick<Operation, 'requestBody'> }>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export interface SentRequest {
  readonly method: string
  /** Whole address or path, with its query. */
  readonly url: string
  readonly body?: string | null
}

export interface ReceivedAnswer {
  readonly status: number
  readonly contentType: string | null
  readonly body: string
}

const file = new URL('github-openapi.json', import.meta.url)
const description = JSON.parse(readFileSync(file, 'utf8')) as Description

const routes = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    method: method.toUpperCase(),
    operation,
  })),
)

/** Every operation that the simulator must have, as `METHOD /path/{parameter}`. */
export const describedOperations: readonly string[] = routes.map(({ name }) => name)

export function operationOf({ method, url }: SentRequest): string | null {
  return routeOf(method, url)?.name ?? null
}

function routeOf(method: string, url: string) {
  // The path by id, to which renamed repositories are redirected, answers like the path by name.
  const { pathname } = new URL(url, 'http://github.test')
  const path = pathname.replace(/^\/repositories\/\d+/, '/repos/{owner}/{repo}')
  return routes.find((route) => route.method === method && route.pattern.test(path))
}

/** The problems of an answer, one sentence each; empty for a right one. */
export function checkAnswer(request: SentRequest, answer: ReceivedAnswer): string[] {
  const route = routeOf(request.method, request.url)
  const describe = (problem: string) =>
    `${request.method} ${request.url} (${answer.status}): ${problem}`
  if (route === undefined) return [describe('GitHub describes no such operation')]
  const isFine = answer.status < 300
  const sent = isFine ? requestProblems(route.operation, request) : []
  return [...sent, ...answerProblems(route.operation, answer)].map(describe)
}

/** A simulator that accepts more than GitHub describes would hide our mistakes. */
function requestProblems(operation: Operation, { url, body = null }: SentRequest): string[] {
  const declared = operation.parameters.map(({ name }) => name)
  const given = [...new URL(url, 'http://github.test').searchParams.keys()]
  const unknown = given.filter((name) => !declared.includes(name))
  const problems = unknown.map((name) => `accepted the parameter ${name}, which GitHub ignores`)
  const schema = schemaIn(operation.requestBody)
  if (body === null || body === '' || schema === undefined) return problems
  const forms = problemsWith(closed(schema), JSON.parse(body))
  return [...problems, ...forms.map((problem) => `accepted a body whose ${problem}`)]
}

function answerProblems(
  operation: Operation,
  { status, contentType, body }: ReceivedAnswer,
): string[] {
  const described = operation.responses[status]
  if (described === undefined && status < 300) return ['the status is not described']
  const schema = schemaIn(described) ?? (status < 300 ? undefined : errorForm(status))
  if (status === 204 || status === 304) return body === '' ? [] : ['there is a body']
  // A failing gateway in front of GitHub answers with an HTML page.
  if (status >= 500 && contentType?.startsWith('application/json') !== true) return []
  if (contentType !== 'application/json; charset=utf-8') return [`comes as ${contentType}`]
  if (schema === undefined) return ['the body is not described']
  // GitHub describes errors less exactly: its own have a `status` that not every schema names.
  return problemsWith(status < 300 ? closed(schema) : plain(schema), JSON.parse(body))
}

/** Limits, lost permissions and outages can occur on any operation, described there or not. */
function errorForm(status: number): Schema {
  if (status !== 422) return { $ref: '#/components/schemas/basic-error' }
  const forms = ['validation-error', 'validation-error-simple']
  return { anyOf: forms.map((name) => ({ $ref: `#/components/schemas/${name}` })) }
}

/** Every webhook with a known schema, as `pull-request-opened`. */
export const describedWebhooks: readonly string[] = Object.keys(description['x-webhooks'])

export function webhookNameOf(event: string, action: string | null): string {
  return (action === null ? event : `${event}-${action}`).replaceAll('_', '-')
}

/** GitHub describes webhooks less exactly, so an additional field is not a problem. */
export function checkWebhook(event: string, payload: unknown): string[] {
  const name = webhookNameOf(event, (payload as { readonly action?: string }).action ?? null)
  const schema = schemaIn(description['x-webhooks'][name]?.post.requestBody)
  if (schema === undefined) return [`GitHub describes no webhook ${name}`]
  return problemsWith(plain(schema), payload).map((problem) => `${name}: ${problem}`)
}

export interface AnswerWatch {
  readonly fetch: typeof globalThis.fetch
  readonly problems: readonly string[]
  /** `METHOD /path/{parameter} status` of every checked answer. */
  readonly seen: ReadonlySet<string>
}

export function watchAnswers(inner: typeof globalThis.fetch): AnswerWatch {
  const problems: string[] = []
  const seen = new Set<string>()
  return {
    problems,
    seen,
    async fetch(input, init) {
      const request = new Request(input, init)
      const { method, url } = request
      const body = request.body === null ? null : await request.clone().text()
      const answer = await inner(request)
      const { status, headers } = answer
      const contentType = headers.get('content-type')
      // A body that breaks off is a fault that a test asked for: there is nothing to check.
      const text = await readWhole(answer.clone())
      if (text === null) return answer
      problems.push(...checkAnswer({ method, url, body }, { status, contentType, body: text }))
      seen.add(`${operationOf({ method, url }) ?? url} ${status}`)
      return answer
    },
  }
}

/** Null when the connection breaks or the JSON is incomplete. */
async function readWhole(answer: Response): Promise<string | null> {
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
  try {
    const text = await answer.text()
    if (isJson) JSON.parse(text)
    return text
  } catch {
    return null
  }
}

const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: true })
addFormats.default(ajv)
ajv.addFormat('int64', true)

const compiled = new Map<string, ValidateFunction>()

function problemsWith(schema: Schema, value: unknown): string[] {
  const key = JSON.stringify(schema)
  const validate = compiled.get(key) ?? ajv.compile(schema)
  compiled.set(key, validate)
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message = '', params }) => {
    const name = (params as { readonly unevaluatedProperty?: string }).unevaluatedProperty
    return `${instancePath === '' ? 'whole' : instancePath} ${message} ${name ?? ''}`.trim()
  })
}

function schemaIn(part: Content | undefined): Schema | undefined {
  return part?.content?.['application/json']?.schema
}

type Form = (schema: Schema) => Schema

const plain: Form = (schema) => asJsonSchema(schema, 'github:plain', false) as Schema
const closed: Form = (schema) => asJsonSchema(schema, 'github:closed', true) as Schema
addShared('github:plain', plain)
addShared('github:closed', closed)

function addShared($id: string, form: Form): void {
  const schemas = Object.entries(description.components.schemas)
  ajv.addSchema({ $id, $defs: Object.fromEntries(schemas.map(([name, one]) => [name, form(one)])) })
}

/**
 * OpenAPI 3.0 has `nullable` where JSON Schema has a separate type. `close` forbids fields of an
 * object that are not described; the parts of an `allOf` are closed together, at their owner.
 */
function asJsonSchema(schema: unknown, home: string, close: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((item) => asJsonSchema(item, home, close))
  if (typeof schema !== 'object' || schema === null) return schema
  const { nullable, discriminator: _, $ref, ...rest } = schema as Record<string, unknown>
  const form = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, convert(key, value)]),
  )
  if (typeof $ref === 'string')
    form['$ref'] = $ref.replace('#/components/schemas', `${home}#/$defs`)
  const hasFields = 'properties' in form || 'allOf' in form
  if (close && hasFields && !('additionalProperties' in form)) form['unevaluatedProperties'] = false
  return nullable === true ? { anyOf: [form, { type: 'null' }] } : form

  function convert(key: string, value: unknown): unknown {
    if (key === 'properties') {
      const fields = Object.entries(value as Schema)
      return Object.fromEntries(
        fields.map(([name, field]) => [name, asJsonSchema(field, home, close)]),
      )
    }
    if (key === 'enum' || key === 'required') return value
    return asJsonSchema(value, home, close && key !== 'allOf')
  }
}
