/**
 * Goal: the OpenAPI document describes everything that the server does, in a form that generators
 * accept.
 * Method: the document is compared with the server's own list of endpoints.
 */
import { createHash } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import {
  adminToken,
  ask,
  bearer,
  problemOf,
  serverUnderTest,
  tokenOf,
} from './server-under-test.ts'

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly security?: readonly unknown[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly description?: string
  }[]
  readonly 'x-conflicts'?: readonly { readonly code: string }[]
  readonly 'x-scopes'?: readonly string[]
  readonly requestBody?: {
    readonly required?: boolean
    readonly content: Readonly<Record<string, unknown>>
  }
  readonly responses: Readonly<
    Record<string, { readonly description?: string; readonly content?: object }>
  >
}

interface Document {
  readonly openapi: string
  readonly info: { readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly security: readonly unknown[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

const { server } = serverUnderTest()
const api = (await ask(server, { url: '/openapi.json' })).json<Document>()
afterAll(() => server.close())

const operations = Object.entries(api.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
)

describe('the document', () => {
  test('contains every endpoint and nothing else', () => {
    const described = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`)
    const served = server.endpoints
      .filter(({ method }) => method !== 'HEAD')
      .map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
    expect(described.sort()).toEqual(served.sort())
  })

  test('names each operation once, with a known tag, a summary and its answers', () => {
    const names = operations.map(({ operation }) => operation.operationId)
    expect(new Set(names).size).toBe(names.length)
    const tags = api.tags.map(({ name }) => name)
    for (const { operation } of operations) {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/)
      expect(tags).toContain(operation.tags[0])
      expect(operation.summary).not.toBe('')
      expect(Object.keys(operation.responses).some((status) => status.startsWith('2'))).toBe(true)
      for (const response of Object.values(operation.responses)) {
        expect(response.description).toEqual(expect.any(String))
      }
    }
  })

  test('says which problems an operation answers with', () => {
    for (const { operation, method } of operations) {
      const statuses = Object.keys(operation.responses)
      const open = operation.security?.length === 0
      expect(statuses).toEqual(
        expect.arrayContaining(open ? ['503'] : ['400', '401', '403', '503']),
      )
      const refusals = open ? ['400', '401', '413'] : ['413', '415', '422']
      if (method === 'post') expect(statuses).toEqual(expect.arrayContaining(refusals))
      for (const [status, { content }] of Object.entries(operation.responses)) {
        if (Number(status) < 400) continue
        expect(content).toEqual({
          'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
        })
      }
    }
  })

  test('says where a body may be left out', () => {
    const optional = operations.filter(({ operation }) => operation.requestBody?.required === false)
    expect(optional.map(({ operation }) => operation.operationId).sort()).toEqual([
      'cancelRun',
      'catchUp',
      'confirmDelivery',
      'confirmStep',
      'createGitHubToken',
      'failStep',
      'heartbeatRun',
      'releaseRun',
      'repeatStep',
      'replayInboxEntry',
      'rerunRun',
      'retryDeliveries',
      'retryDelivery',
      'unblockIdentity',
    ])
    expect(JSON.stringify(api)).not.toMatch(/x-(optional|own)/)
  })

  test('says of every field and parameter what it is', () => {
    const silent: string[] = []
    const visit = (name: string, part: unknown): void => {
      if (typeof part !== 'object' || part === null) return
      const { properties } = part as { properties?: Record<string, { description?: string }> }
      for (const [field, shape] of Object.entries(properties ?? {})) {
        if (shape.description === undefined) silent.push(`${name}.${field}`)
      }
      for (const [key, inner] of Object.entries(part)) visit(`${name}.${key}`, inner)
    }
    visit('', api.components.schemas)
    for (const { path, operation } of operations) {
      visit(path, operation)
      for (const { name, description } of operation.parameters ?? []) {
        if (description === undefined) silent.push(`${path} ${name}`)
      }
    }
    expect(silent).toEqual([])
  })

  test('lists the codes of a 409 with what each means, and who reaches it', () => {
    const cancel = api.paths['/v1/runs/{id}/cancel']?.['post']
    expect(cancel?.responses['409']?.description).toContain('`not_active`: the run has ended')
    expect(cancel?.['x-conflicts']?.map(({ code }) => code)).toEqual(['not_active'])
    expect(cancel?.['x-scopes']).toEqual(['admin', 'operator'])
    for (const { operation } of operations) {
      const listed = operation['x-conflicts'] !== undefined
      expect([operation.operationId, '409' in operation.responses]).toEqual([
        operation.operationId,
        listed,
      ])
    }
  })

  test('shows a claim whose commits differ', () => {
    const claim = api.components.schemas['PullRequestClaimInput'] as {
      readonly title: string
      readonly properties: Readonly<Record<string, { readonly examples: readonly string[] }>>
    }
    expect(claim.title).toBe('Pull request')
    const { base_sha: base, head_sha: head } = claim.properties
    expect(base?.examples[0]).toMatch(/^[0-9a-f]{40}$/)
    expect(base?.examples[0]).not.toBe(head?.examples[0])
  })

  test('asks for a bearer token on all but the health checks and webhooks', () => {
    expect(api.security).toEqual([{ bearer: [] }])
    const open = operations.filter(({ operation }) => operation.security?.length === 0)
    expect(open.map(({ path }) => path).sort()).toEqual(['/healthz', '/readyz', '/webhooks/github'])
  })

  test('offers the idempotency key on every POST that takes a token', () => {
    for (const { operation, method } of operations) {
      const offered = operation.parameters?.some(({ name }) => name === 'Idempotency-Key') ?? false
      expect(offered).toBe(method === 'post' && operation.security?.length !== 0)
    }
  })

  test('has every path parameter and no reference without a target', () => {
    for (const { path, operation } of operations) {
      const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const given = operation.parameters?.filter((one) => one.in === 'path') ?? []
      expect(given.map(({ name }) => name)).toEqual(wanted)
    }
    const references = JSON.stringify(api).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)
    const used = new Set([...references].map(([, name]) => name))
    expect([...used].sort()).toEqual(Object.keys(api.components.schemas).sort())
  })

  test('shows numbers in queries as numbers, strict bodies, and both forms of a claim', () => {
    expect(api.openapi).toBe('3.1.0')
    expect(api.info).toMatchObject({
      version: '1.2.3',
      description: expect.stringContaining('sandbox') as string,
    })
    expect(api.paths['/v1/runs']?.['get']?.parameters).toContainEqual(
      expect.objectContaining({
        name: 'limit',
        schema: expect.objectContaining({ type: 'integer', minimum: 1, maximum: 1000 }) as object,
      }),
    )
    expect(api.paths['/v1/runs']?.['post']?.requestBody?.content['application/json']).toEqual({
      schema: {
        anyOf: [
          { $ref: '#/components/schemas/PullRequestClaimInput' },
          { $ref: '#/components/schemas/JobClaimInput' },
        ],
      },
    })
    expect(api.components.schemas['JobClaimInput']).toMatchObject({
      required: ['key', 'type'],
      additionalProperties: false,
    })
    expect(Object.keys(api.paths['/v1/runs/lease']?.['post']?.responses['204'] ?? {})).toEqual([
      'description',
    ])
  })
})

describe('the page', () => {
  const accept = 'text/html,application/xhtml+xml'

  test('asks a browser without a token for one, as a 401', async () => {
    const answer = await server.inject({ url: '/docs', headers: { accept } })
    expect(answer.statusCode).toBe(401)
    expect(answer.headers).toMatchObject({
      'www-authenticate': 'Bearer',
      'content-type': 'text/html; charset=utf-8',
    })
    expect(answer.body).toContain('<input')
    const bare = await server.inject({ url: '/docs' })
    expect(problemOf(bare)).toMatchObject({ status: 401 })
  })

  test('is the same for a browser with a token', async () => {
    const asking = await server.inject({ url: '/docs', headers: { accept } })
    for (const token of [adminToken, tokenOf('bot:telegram')]) {
      const answer = await server.inject({ url: '/docs', headers: bearer(token) })
      expect([answer.statusCode, answer.body]).toEqual([200, asking.body])
    }
  })

  test('runs only its own script and style, and fetches only from this server', async () => {
    const { body, headers } = await ask(server, { url: '/docs' })
    const policy = String(headers['content-security-policy'])
    for (const tag of ['script', 'style']) {
      const text = new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`).exec(body)?.[1] ?? ''
      const hash = createHash('sha256').update(text).digest('base64')
      expect(text.length).toBeGreaterThan(1000)
      expect(policy).toContain(`${tag}-src 'sha256-${hash}'`)
    }
    expect(policy).toContain("default-src 'none'")
    expect(body).not.toMatch(/https?:\/\/|<link|<img|\sstyle=|\son\w+=/)
    expect(body).not.toMatch(/localStorage|document\.cookie|innerHTML|^import |^export /m)
  })
})
