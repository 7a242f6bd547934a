// Goal: one exchange is one request with one deadline, one id and one log line, over real
// connections that hang, break or send wrong answers.
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startFakeApi, type Answering, type FakeApi } from '../../test/github/fake-api.ts'
import { clientOf, named, rejectionOf, theToken } from '../../test/github/github-under-test.ts'
import type { GitHubError } from './errors.ts'

let api: FakeApi
beforeEach(async () => {
  api = await startFakeApi()
})
afterEach(() => api.close())

const user = { body: { login: 'octocat', id: 1 } }
/** Any call works here; this one needs nothing else. */
const call = 'GET /user'

describe('every request', () => {
  it('names its program, version and its own id', async () => {
    api.on(call, user)
    const { github } = clientOf(api.url)
    await github.ownAccount()
    await github.ownAccount()
    const [first, second] = api.seen.map(({ headers }) => headers)
    expect(first).toMatchObject({
      authorization: `Bearer ${theToken}`,
      'user-agent': 'holdfast/1.2.3',
      'x-github-api-version': '2022-11-28',
    })
    expect(first!['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/)
    expect(second!['x-request-id']).not.toBe(first!['x-request-id'])
  })

  it('is logged once, with both ids and the template of its path', async () => {
    api.on('GET /repos/acme/widgets/pulls/5', { status: 410 })
    const { github, lines } = clientOf(api.url)
    await rejectionOf(github.headOf(named('acme/widgets'), 5))
    expect(lines).toEqual([
      [
        {
          requestId: api.seen[0]!.headers['x-request-id'],
          githubRequestId: 'ABCD:1234:5678',
          method: 'GET',
          route: '/repos/{owner}/{repo}/pulls/{pull_number}',
          status: 410,
          ms: 0,
          kind: 'gone',
        },
        'Request to GitHub',
      ],
    ])
  })

  it('has a deadline of ten seconds, which ends with it', async () => {
    const { github, scheduler } = clientOf(api.url)
    const set: number[] = []
    api.on(call, (response) => {
      set.push(...scheduler.timers.values())
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(user.body))
    })
    await github.ownAccount()
    expect(set).toEqual([10_000])
    expect(scheduler.timers.size).toBe(0)
  })

  it('goes below the path of the API, with or without a slash at the end', async () => {
    api.on('GET /api/v3/user', user)
    await clientOf(`${api.url}/api/v3/`).github.ownAccount()
    await clientOf(`${api.url}/api/v3`).github.ownAccount()
    expect(api.calls()).toEqual(['GET /api/v3/user', 'GET /api/v3/user'])
  })
})

describe('a request without an answer', () => {
  it('that hangs is cut at the deadline and is in doubt', async () => {
    const arrived = Promise.withResolvers<undefined>()
    api.on(call, () => arrived.resolve(undefined))
    const { github, scheduler, lines } = clientOf(api.url)
    const rejection = rejectionOf(github.ownAccount())
    await arrived.promise
    scheduler.fire()
    const error = (await rejection) as GitHubError
    expect(error).toMatchObject({ kind: 'unanswered', failure: 'timeout', status: null })
    expect(error.githubRequestId).toBeNull()
    expect(error.requestId).toBe(api.seen[0]!.headers['x-request-id'])
    expect(lines[0]![0]).toMatchObject({ requestId: error.requestId, status: null })
    expect(scheduler.timers.size).toBe(0)
  })

  it('is cut at the same deadline if its body does not end', async () => {
    api.on(call, (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-github-request-id': 'A:1' })
      response.write('{"login":')
    })
    const begun = Promise.withResolvers<undefined>()
    const { github, scheduler } = clientOf(api.url, {
      fetch: async (...request) => {
        const response = await fetch(...request)
        begun.resolve(undefined)
        return response
      },
    })
    const rejection = rejectionOf(github.ownAccount())
    await begun.promise
    scheduler.fire()
    expect(await rejection).toMatchObject({
      kind: 'unanswered',
      status: 200,
      failure: 'body cut off',
      githubRequestId: 'A:1',
    })
    expect(scheduler.timers.size).toBe(0)
  })

  it('is in doubt after a reset, and is not repeated', async () => {
    api.on(call, (response) => response.socket!.resetAndDestroy())
    const error = await rejectionOf(clientOf(api.url).github.ownAccount())
    expect(error).toMatchObject({ kind: 'unanswered', status: null })
    expect(api.calls()).toEqual([call])
  })

  it('is in doubt after a reset in the body of a 200, with the ids of both sides', async () => {
    api.on(call, (response) => {
      response.writeHead(200, { 'content-length': '1000', 'x-github-request-id': 'A:1' })
      response.write('{"login":"octocat","id":1', () => response.socket!.resetAndDestroy())
    })
    const error = await rejectionOf(clientOf(api.url).github.ownAccount())
    expect(error).toMatchObject({ kind: 'unanswered', status: 200, githubRequestId: 'A:1' })
  })

  it('was never sent if no server listens at the port', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const error = await rejectionOf(clientOf(`http://127.0.0.1:${port}`).github.ownAccount())
    expect(error).toMatchObject({ kind: 'network', failure: 'ECONNREFUSED', status: null })
  })
})

describe('an answer that cannot be used', () => {
  it.each<[string, string, string]>([
    ['text that is not JSON', 'text/html', '<html>Unicorn!</html>'],
    ['half of its JSON', 'application/json', '{"login":"octoc'],
    ['fields of another type', 'application/json', '{"login":7}'],
    ['an empty body', 'application/json', ''],
    ['null', 'application/json', 'null'],
  ])('such as a 200 with %s is in doubt', async (_name, type, body) => {
    api.on(call, (response) => {
      response.writeHead(200, { 'content-type': type, 'x-github-request-id': 'A:1' })
      response.end(body)
    })
    const error = await rejectionOf(clientOf(api.url).github.ownAccount())
    const { requestId } = error as GitHubError
    expect(error).toMatchObject({ kind: 'unanswered', status: 200, githubRequestId: 'A:1' })
    expect(requestId).toBe(api.seen[0]!.headers['x-request-id'])
  })

  it.each([301, 302, 307, 308])('such as a %i is not followed', async (status) => {
    const location = `${api.url}/elsewhere`
    api.on(call, { status, headers: { location } })
    const error = await rejectionOf(clientOf(api.url).github.ownAccount())
    expect(error).toMatchObject({ kind: 'redirected', status, repositoryId: null })
    expect(api.calls()).toEqual([call])
  })

  it.each([500, 502, 503, 504])('such as a %i is not repeated', async (status) => {
    api.on(call, { status })
    const error = await rejectionOf(clientOf(api.url).github.ownAccount())
    expect(error).toMatchObject({ kind: 'unanswered', status })
    expect(api.calls()).toEqual([call])
  })

  it('because of a limit says until when, by our clock', async () => {
    api.on(call, { status: 403, headers: { 'retry-after': '72' } })
    const { github, clock } = clientOf(api.url)
    const error = await rejectionOf(github.ownAccount())
    expect(error).toMatchObject({ kind: 'rate_limited', until: clock.wall + 72_000 })
    expect(api.calls()).toEqual([call])
  })
})

describe('secrets', () => {
  it.each([401, 403, 404, 422, 500, 301, 200])(
    'do not appear in errors and logs (%i)',
    async (status) => {
      const echo: Answering = (response) => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(
          JSON.stringify({ message: `Bad credentials: ${theToken}`, errors: [theToken] }),
        )
      }
      api.on('GET /repos/acme/widgets/pulls/5', echo)
      api.on('GET /repos/acme/widgets', echo)
      const { github, lines } = clientOf(api.url)
      const error = await rejectionOf(github.headOf(named('acme/widgets'), 5))
      expect(everythingOf(error)).not.toContain(theToken)
      expect(everythingOf(lines)).not.toContain(theToken)
      expect(everythingOf(lines)).not.toContain('Bad credentials')
    },
  )

  it('do not appear in the errors of the connection itself', async () => {
    const complaint = Object.assign(new TypeError(`Headers.append: "Bearer ${theToken}"`), {
      cause: new Error(`Bearer ${theToken}`),
    })
    const broken = () => Promise.reject(complaint)
    const { github, lines } = clientOf(api.url, { fetch: broken })
    const error = await rejectionOf(github.ownAccount())
    expect(error).toMatchObject({ kind: 'unanswered' })
    expect(everythingOf([error, lines])).not.toContain(theToken)
  })

  it('that cannot be sent are refused at once, without being shown', () => {
    const make = () => clientOf(api.url, { credentials: { token: `${theToken}\nx` } })
    expect(make).toThrow('the GitHub token has characters that cannot be sent')
    expect(make).not.toThrow(theToken)
  })

  function everythingOf(value: unknown): string {
    const seen = [JSON.stringify(value), inspect(value, { depth: 20, showHidden: true })]
    for (let at = value; at instanceof Error; at = at.cause) seen.push(at.message, at.stack ?? '')
    return seen.join('\n')
  }
})
