/**
 * Goal: invalid input of any kind gets a 4xx problem that names the field, never a 500, and changes
 * nothing.
 * Method: for every endpoint a valid request is built from its schema, then made invalid in one
 * place at a time; in addition, random JSON. Runs have ids that do not exist, so that even a
 * request that is accepted by mistake changes nothing.
 */
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import type { Endpoint } from '../../src/http/requests/endpoints.ts'
import { accepts, isProse, sampleOf, shapesOf, type Shape } from './samples.ts'
import { ask, askBySocket, problemOf, serverUnderTest, type Answer } from './server-under-test.ts'

const { server, fakes } = serverUnderTest()
await server.ready()
afterAll(() => server.close())
afterEach(() => expect(fakes.changes).toEqual([]))

const endpoints = server.endpoints.filter(({ method }) => method !== 'HEAD')
const closed = endpoints.filter(({ access }) => access !== 'public')
const withBody = endpoints.filter(({ schema }) => schema.body !== undefined)
const withQuery = endpoints.filter(({ schema }) => schema.querystring !== undefined)
const withId = endpoints.filter(({ url }) => /:id\b/.test(url))
const cases = (list: readonly Endpoint[]) =>
  list.map((endpoint) => [`${endpoint.method} ${endpoint.url}`, endpoint] as const)

function placeOf(url: string, id = 'run_none'): string {
  return url.replace(':identity', 'github:user').replace(/:id\b/, id)
}

function send({ method, url }: Endpoint, options: InjectOptions = {}) {
  return ask(server, { ...options, method: method, url: placeOf(url) })
}

function sendPath({ method, url }: Endpoint, id: string, query = '') {
  return askBySocket(server, { method, path: `${placeOf(url, id)}${query}` })
}

const sendJson = (endpoint: Endpoint, body: unknown) => sendText(endpoint, JSON.stringify(body))

function sendText(endpoint: Endpoint, payload: string | Buffer, headers = {}) {
  return send(endpoint, {
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  })
}

/** Returns the status, after checking that the answer is a problem that names the field. */
async function refusalOf(answer: Promise<Answer>, field: string): Promise<number> {
  const { status, errors, detail } = problemOf(await answer)
  const fields = errors?.map((error) => error.field) ?? []
  if (!fields.some((named) => named === field || named.startsWith(`${field}.`))) {
    throw new Error(`${field} is not named: ${detail}`)
  }
  return status
}

/** Each field of each form of the body, with a body that is valid except for this field. */
function fieldsOf(endpoint: Endpoint) {
  return shapesOf(endpoint.schema.body).flatMap((form) =>
    Object.entries(form.properties ?? {}).map(([name, shape]) => {
      const valid = sampleOf(form) as Record<string, unknown>
      const required = form.required?.includes(name) === true
      return {
        name,
        shape,
        valid,
        required,
        bent: (value: unknown) => ({ ...valid, [name]: value }),
      }
    }),
  )
}

const isAny = (shape: Shape): boolean => shape.type === undefined && shape.anyOf === undefined

const typesOf = (shape: Shape): readonly (string | undefined)[] =>
  shape.anyOf === undefined ? [shape.type] : shape.anyOf.map(({ type }) => type)

const valuesByType: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['integer', 7],
  ['number', 1.5],
  ['string', 'text'],
  ['boolean', true],
  ['array', ['text']],
  ['array', []],
  ['object', {}],
  ['object', { constructor: { prototype: { x: 1 } } }],
]

describe.each(cases(withBody))('the body of %s', (_name, endpoint) => {
  const schema = endpoint.schema.body as z.ZodType
  const fields = fieldsOf(endpoint)

  test('is accepted by its schema in the form that the other tests change', () => {
    for (const form of shapesOf(schema)) expect(accepts(schema, sampleOf(form))).toBe(true)
  })

  test('is refused with 400 for a field of another type', async () => {
    for (const { name, shape, bent } of fields) {
      for (const [type, value] of isAny(shape) ? [] : valuesByType) {
        if (typesOf(shape).includes(type)) continue
        expect(await refusalOf(sendJson(endpoint, bent(value)), name)).toBe(400)
      }
    }
  })

  test('is refused with 400 for a missing field', async () => {
    for (const { name, valid, required } of fields) {
      if (!required) continue
      const { [name]: _left, ...rest } = valid
      // A result is accepted, whether it is confirmed or not.
      if (accepts(schema, rest)) continue
      // Without its key, a job is read as the other form of a claim, and the error names the fields
      // that this form requires.
      const status = problemOf(await sendJson(endpoint, rest)).status
      expect(status).toBe(400)
    }
  })

  test('is refused with 400 for unknown fields', async () => {
    for (const form of shapesOf(schema)) {
      for (const name of ['Repo', 'constructor', 'x'.repeat(5000), 'a\u0000b', '']) {
        const body = { ...(sampleOf(form) as object), [name]: 1 }
        expect(problemOf(await sendJson(endpoint, body))).toMatchObject({ status: 400 })
      }
      const polluted = JSON.stringify(sampleOf(form)).replace('{', '{"__proto__":{"x":1},')
      const text = polluted.replace(',}', '}')
      expect(await refusalOf(sendText(endpoint, text), '__proto__')).toBe(400)
    }
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  test('is refused with 422 for long or empty texts and control characters', async () => {
    for (const { name, shape, bent } of fields) {
      if (shape.type !== 'string') continue
      const single = ['', 'a\nb', 'a\u001b[31m', 'a\u007f', 'a\u2028b', '\u0085']
      const always = ['x'.repeat(270_000), 'nul \u0000', 'lone \ud800 half']
      for (const text of [...always, ...(isProse(shape) ? [] : single)]) {
        expect([name, text, await refusalOf(sendJson(endpoint, bent(text)), name)]).toEqual([
          name,
          text,
          422,
        ])
      }
    }
  })

  test('is refused for numbers out of range', async () => {
    for (const { name, shape, valid } of fields) {
      if (shape.type !== 'integer') continue
      for (const number of ['-1', '1e999', '-1e999', '9007199254740993', '1e21', '0.1']) {
        const text = JSON.stringify({ ...valid, [name]: '#' }).replace('"#"', number)
        expect([400, 422]).toContain(await refusalOf(sendText(endpoint, text), name))
      }
    }
  })

  test('is refused with 422 for JSON that is too large or cannot be stored unchanged', async () => {
    for (const { name, shape, valid, bent } of fields) {
      if (!isAny(shape)) continue
      expect(await refusalOf(sendJson(endpoint, bent('x'.repeat(262_143))), name)).toBe(422)
      const infinite = JSON.stringify({ ...valid, [name]: [['#']] }).replace('"#"', '1e999')
      expect(await refusalOf(sendText(endpoint, infinite), name)).toBe(422)
    }
  })

  test('is refused if it is not a JSON object in UTF-8 within the size limit', async () => {
    const status = async (payload: string | Buffer, headers = {}) =>
      problemOf(await sendText(endpoint, payload, headers)).status
    for (const text of [
      '{',
      '{"a":1,}',
      "{'a':1}",
      'undefined',
      '\ufeff{}x',
      '[]',
      '1',
      '"x"',
      'true',
    ]) {
      expect([text, await status(text)]).toEqual([text, 400])
    }
    expect(await status(Buffer.from('7b2261223a22ff227d', 'hex'))).toBe(400)
    expect(await status('['.repeat(100_000))).toBe(400)
    expect(await status('['.repeat(500_000) + ']'.repeat(500_000))).toBe(400)
    expect(await status(JSON.stringify({ a: 'x'.repeat(1024 * 1024) }))).toBe(413)
    expect(await status('{}', { 'content-encoding': 'gzip' })).toBe(415)
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      'x',
    ]) {
      expect([type, await status('{}', { 'content-type': type })]).toEqual([type, 415])
    }
    const untyped = await send(endpoint, { payload: Buffer.from('{}') })
    expect(problemOf(untyped)).toMatchObject({ status: 400, code: 'content_type_missing' })
  })

  test('is refused if it is random JSON', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (body) => {
        if (accepts(schema, body)) return
        expect([400, 422]).toContain(problemOf(await sendJson(endpoint, body)).status)
      }),
      { numRuns: 60, seed: 7 },
    )
  })

  test('is refused with random JSON in any of its fields, or accepted unchanged', async () => {
    if (fields.length === 0) return
    const bending = fc.tuple(fc.constantFrom(...fields), fc.jsonValue())
    await fc.assert(
      fc.asyncProperty(bending, async ([{ bent }, value]) => {
        const body = bent(value)
        if (accepts(schema, body)) return
        expect([400, 422]).toContain(problemOf(await sendJson(endpoint, body)).status)
      }),
      { numRuns: 60, seed: 11 },
    )
  })
})

describe.each(cases(closed))('%s', (_name, endpoint) => {
  test('refuses unknown query parameters', async () => {
    for (const name of ['unknown', '__proto__', 'constructor', 'LIMIT', '%ff']) {
      const status = await refusalOf(sendPath(endpoint, 'run_none', `?${name}=1`), name)
      expect(status).toBe(400)
    }
  })

  test('refuses every method it does not have', async () => {
    const path = placeOf(endpoint.url)
    const own = endpoints.filter(({ url }) => url === endpoint.url).map(({ method }) => method)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PURGE']) {
      if (own.includes(method)) continue
      const answer = await ask(server, { method: method, url: path })
      expect(problemOf(answer)).toMatchObject({ status: 405, code: 'method_not_allowed' })
      expect(answer.headers['allow']?.split(', ')).toEqual(expect.arrayContaining(own))
    }
  })

  test('refuses an invalid idempotency key', async () => {
    if (endpoint.method !== 'POST') return
    for (const key of ['', ' ', 'a b', 'x'.repeat(256), 'schlüssel']) {
      const answer = send(endpoint, { headers: { 'idempotency-key': key } })
      expect(await refusalOf(answer, 'Idempotency-Key')).toBe(400)
    }
  })

  test('refuses a body if it takes none', async () => {
    if (endpoint.schema.body !== undefined || endpoint.method === 'GET') return
    expect(await refusalOf(sendJson(endpoint, { really: true }), 'body')).toBe(400)
  })
})

describe.each(cases(withQuery))('the query of %s', (_name, endpoint) => {
  const [shape] = shapesOf(endpoint.schema.querystring)
  const parameters = Object.entries(shape?.properties ?? {})

  test.each(parameters)('is refused for a bad %s', async (name, parameter) => {
    const value = encodeURIComponent(String(sampleOf(parameter)))
    const status = (text: string) => refusalOf(sendPath(endpoint, 'run_none', `?${text}`), name)
    expect(await status(`${name}=${value}&${name}=${value}`)).toBe(400)
    expect(await status(`${name}=%zz`)).toBe(400)
    expect(await status(`${name}=%ff%fe`)).toBe(400)
    for (const bad of ['', '%00', 'a%0ab', 'x'.repeat(5000), '%ed%a0%80']) {
      expect([400, 422]).toContain(await status(`${name}=${bad}`))
    }
    if (parameter.type !== 'integer') return
    for (const bad of ['abc', '1.5', '0x10', '1e3', '%201', '9'.repeat(30)]) {
      expect(await status(`${name}=${bad}`)).toBe(400)
    }
    if (parameter.minimum !== 0) expect(await status(`${name}=0`)).toBe(422)
    expect(await status(`${name}=-1`)).toBe(422)
  })
})

describe.each(cases(withId))('the id of %s', (_name, endpoint) => {
  const bad = ['..', '.', '%2e%2e', '..%2f..%2ftokens', '..%5c', 'a%2fb', '%00', 'a.b', 'a%20b']
  const worse = ['x'.repeat(101), 'x'.repeat(10_000), '%c3%bc', '%e2%80%a8', "'--", '*', '%25']

  test.each([...bad, ...worse])('is refused as %s', async (id) => {
    expect(await refusalOf(sendPath(endpoint, id), 'id')).toBe(400)
  })

  test.each(['%', '%zz', '%ff', '%c3', '%ed%a0%80'])('is refused as %s', async (id) => {
    const problem = problemOf(await sendPath(endpoint, id))
    expect(problem).toMatchObject({ status: 400, code: 'bad_url' })
  })
})
