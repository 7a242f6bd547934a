/** Goal: a GitHub token is in the answer to the holder of its run, and nowhere else. */
import { afterAll, beforeEach, expect, test } from 'vitest'
import { GitHubUnavailableError } from '../../src/errors.ts'
import { hashSecret, leaseToken } from '../../src/secrets.ts'
import { githubToken } from './fake-github-tokens.ts'
import { leaseSecret, theRunId } from './fakes.ts'
import {
  ask,
  bearer,
  problemOf,
  serverUnderTest,
  theRunToken,
  tokenOf,
} from './server-under-test.ts'

let { server, fakes, logged } = serverUnderTest()
beforeEach(async () => {
  await server.close()
  ;({ server, fakes, logged } = serverUnderTest())
})
afterAll(() => server.close())

const url = `/v1/runs/${theRunId}/github-token`
const post = (token: string, payload?: object, headers = {}) =>
  ask(server, {
    method: 'POST',
    url,
    headers: { ...bearer(token), ...headers },
    ...(payload === undefined ? {} : { payload }),
  })

const answered = {
  token: githubToken,
  expires_at: '2026-01-31T13:00:00.000Z',
  permissions: { contents: 'read', metadata: 'read' },
  repositories: ['Acme/Widgets'],
}

test('a run token gets it without a body', async () => {
  const answer = await post(theRunToken)
  expect([answer.statusCode, answer.json()]).toEqual([200, answered])
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(fakes.changes).toMatchObject([
    {
      verb: 'githubToken',
      actor: `run:${theRunId}`,
      request: { runId: theRunId, leaseHash: hashSecret(leaseSecret) },
    },
  ])
})

test('a worker gets it with its lease, and only with it', async () => {
  const worker = tokenOf('worker')
  const refused = await post(worker, {})
  expect(problemOf(refused)).toMatchObject({ status: 400, errors: [{ field: 'lease_token' }] })
  expect(fakes.changes).toEqual([])
  const answer = await post(worker, { lease_token: leaseToken(leaseSecret) })
  expect([answer.statusCode, answer.json()]).toEqual([200, answered])
})

test('an operator and a reader do not get it', async () => {
  for (const scope of ['operator', 'read'] as const) {
    expect(problemOf(await post(tokenOf(scope)))).toMatchObject({ status: 403 })
  }
})

test('it is stored for no idempotency key, and is not in the log', async () => {
  const once = { 'idempotency-key': 'key-1' }
  for (let time = 0; time < 2; time++) {
    expect((await post(theRunToken, {}, once)).statusCode).toBe(200)
  }
  expect(fakes.changes.map((change) => change.once)).toEqual([undefined, undefined])
  expect(logged.length).toBeGreaterThan(0)
  expect(logged.join()).not.toContain(githubToken)
})

test.each([
  [42_001, '43'],
  [-5, '1'],
])('GitHub’s wait of %i ms is a Retry-After of %s seconds', async (waitMs, seconds) => {
  fakes.failure = new GitHubUnavailableError('github_limited', 'GitHub limits us.', waitMs)
  // An API token: for a run token, the fake store fails first.
  const answer = await post(tokenOf('admin'), { lease_token: leaseToken(leaseSecret) })
  expect(problemOf(answer)).toMatchObject({ status: 503, code: 'github_limited' })
  expect(answer.headers['retry-after']).toBe(seconds)
})
