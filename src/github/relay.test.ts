/** Goal: a request for a run is one exchange, and an aborted one is no failure of GitHub. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startFakeApi, type FakeApi } from '../../test/github/fake-api.ts'
import {
  appCredentials,
  clientOf,
  named,
  rejectionOf,
  theToken,
} from '../../test/github/github-under-test.ts'

let api: FakeApi
beforeEach(async () => {
  api = await startFakeApi()
})
afterEach(() => api.close())

const kinds: string[] = []
const onAsked = (kind: string) => void kinds.push(kind)
beforeEach(() => void (kinds.length = 0))

const requestOf = (url: string, signal = new AbortController().signal) => ({
  method: 'GET',
  url,
  headers: { accept: 'text/plain', authorization: 'mine' },
  body: undefined,
  signal,
})

it('passes with our credentials, and is logged without its address', async () => {
  api.on('GET /a?secret=1', { status: 404, body: { message: 'Not Found' } })
  const { github, lines } = clientOf(api.url, { onAsked })
  const answer = await github.send(named('acme/widgets'), requestOf(`${api.url}/a?secret=1`), null)
  expect([answer.status, await answer.json()]).toEqual([404, { message: 'Not Found' }])
  expect(api.seen[0]!.headers).toMatchObject({
    accept: 'text/plain',
    authorization: `Bearer ${theToken}`,
    'user-agent': 'holdfast/1.2.3',
    'x-github-api-version': '2022-11-28',
  })
  expect(kinds).toEqual(['not_found'])
  expect(lines).toEqual([
    [
      {
        requestId: api.seen[0]!.headers['x-request-id'],
        githubRequestId: 'ABCD:1234:5678',
        repo: 'acme/widgets',
        method: 'GET',
        status: 404,
        ms: 0,
        kind: 'not_found',
      },
      'Request to GitHub for a run',
    ],
  ])
})

it('that is aborted rejects with the reason, and does not count as unanswered', async () => {
  const { github, scheduler } = clientOf(api.url, { onAsked })
  const arrived = Promise.withResolvers<undefined>()
  api.on('GET /a', () => arrived.resolve(undefined))
  const run = new AbortController()
  const request = requestOf(`${api.url}/a`, run.signal)
  const sent = rejectionOf(github.send(named('acme/widgets'), request, null))
  await arrived.promise
  const reason = new Error('lost')
  run.abort(reason)
  expect(await sent).toBe(reason)
  expect([kinds, scheduler.timers.size]).toEqual([[], 0])
})

it('is never sent with the wide token of an App', async () => {
  const { github } = clientOf(api.url, { credentials: appCredentials })
  const sent = github.send(named('acme/widgets'), requestOf(`${api.url}/a`), null)
  expect(String(await rejectionOf(sent))).toContain('needs a narrowed token')
  expect(api.seen).toEqual([])
})
