/**
 * Goal: the requests in the guide to steps do what the guide says.
 * Method: each is sent as it is written there. Where the guide says that a step is in doubt, a
 * worker that was lost began it before.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { adminToken, bearer } from './server-under-test.ts'
import { realServer, type RealServer } from './real-server.ts'

const path = fileURLToPath(new URL('../../docs/guides/steps.md', import.meta.url))
const guide = readFileSync(path, 'utf8')

interface Request {
  readonly name: string
  readonly body: object
  /** The first words of the comment behind it. */
  readonly expected: string
}

const requests: readonly Request[] = [
  ...guide.matchAll(/^ *step (\w+) '(.+?)'(?: *# (.*))?$/gm),
].map(([, name = '', body = '', expected = '']) => ({
  name,
  body: JSON.parse(body) as object,
  expected,
}))

let real: RealServer
beforeEach(() => {
  real = realServer()
})
afterEach(() => real.close())

const send = (method: 'POST' | 'PUT', url: string, payload: object, as = adminToken) =>
  real.server.inject({ method, url, payload, headers: bearer(as) })

interface Held {
  readonly run: { readonly id: string }
  readonly run_token: string
}

/** A new run, held by a worker. */
async function newRun(key: string): Promise<Held> {
  await send('POST', '/v1/runs', { key, type: 'docs', lease: false })
  return await nextWorker()
}

const nextWorker = async (): Promise<Held> =>
  (await send('POST', '/v1/runs/lease', { worker: 'w' })).json<Held>()

async function ask(held: Held, { name, body }: Pick<Request, 'name' | 'body'>) {
  const url = `/v1/runs/${held.run.id}/steps/${name}`
  const answer = await send('PUT', url, body, held.run_token)
  const { state, code, attempt } = answer.json<Record<string, unknown>>()
  return { status: answer.statusCode, state, code, attempt }
}

test('the guide has a request for every form of a body', () => {
  const fields = new Set(requests.flatMap(({ body }) => Object.keys(body)))
  for (const field of ['state', 'result', 'error', 'take_over', 'confirmed', 'held', 'in_doubt']) {
    expect(fields).toContain(field)
  }
})

test('every request is answered as the guide says', async () => {
  let held = await newRun('first')
  for (const request of requests) {
    const isInDoubt = request.expected.startsWith('409 step_in_doubt')
    if (isInDoubt) {
      const lost = await newRun(request.name)
      await ask(lost, { name: request.name, body: { state: 'started', start_id: 'lost' } })
      await send('POST', `/v1/runs/${lost.run.id}/release`, {}, lost.run_token)
      held = await nextWorker()
    }
    const answer = await ask(held, request)
    if (isInDoubt) expect(answer).toMatchObject({ status: 409, code: 'step_in_doubt' })
    else expect([request, answer.status]).toEqual([request, 200])
    const [, state] = /^200 (\w+)/.exec(request.expected) ?? []
    if (state !== undefined) expect(answer.state).toBe(state)
  }
})
