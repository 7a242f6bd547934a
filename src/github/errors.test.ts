// Goal: the result of a call is read from its status and fields, as the table says, and no secret
// is shown.
import { describe, expect, it } from 'vitest'
import type { Answer, GitHubErrorKind } from './errors.ts'
import { GitHubError, isGitHubError, trouble, troubleOfAnswer, troubleOfFailure } from './errors.ts'

const nowMs = Date.parse('2026-11-15T12:00:00Z')
const inSeconds = (seconds: number) => String(nowMs / 1000 + seconds)

interface Given {
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

function answerOf(status: number, { headers = {}, body = {} }: Given = {}): Answer {
  const text = typeof body === 'string' || body === null ? body : JSON.stringify(body)
  return { status, headers: new Headers(headers), body: text }
}

const kindOf = (answer: Answer) => troubleOfAnswer(answer, nowMs)?.kind

describe('an answer', () => {
  it.each<[number, GitHubErrorKind | undefined]>([
    [200, undefined],
    [201, undefined],
    [204, undefined],
    [301, 'redirected'],
    [302, 'redirected'],
    [304, 'redirected'],
    [307, 'redirected'],
    [308, 'redirected'],
    [400, 'invalid'],
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [405, 'invalid'],
    [408, 'unanswered'],
    [409, 'conflict'],
    [410, 'gone'],
    [413, 'invalid'],
    [415, 'invalid'],
    [422, 'invalid'],
    [429, 'rate_limited'],
    [451, 'forbidden'],
    [500, 'unanswered'],
    [502, 'unanswered'],
    [503, 'unanswered'],
    [504, 'unanswered'],
    [599, 'unanswered'],
    [999, 'unanswered'],
  ])('with the status %i is %s', (status, kind) => {
    expect(kindOf(answerOf(status))).toBe(kind)
  })

  it.each([200, 201, 401, 403, 404, 422])(
    'whose body broke off counts as no answer (%i)',
    (status) => {
      expect(kindOf(answerOf(status, { body: null }))).toBe('unanswered')
    },
  )

  it('whose body broke off still counts as a limit if its headers say so', () => {
    expect(kindOf(answerOf(429, { body: null }))).toBe('rate_limited')
    const used = { headers: { 'x-ratelimit-remaining': '0' }, body: null }
    expect(kindOf(answerOf(403, used))).toBe('rate_limited')
  })

  it('with a 5xx is in doubt, and its retry-after says when to look again', () => {
    const busy = answerOf(503, { headers: { 'retry-after': '30' } })
    expect(troubleOfAnswer(busy, nowMs)).toMatchObject({
      kind: 'unanswered',
      until: nowMs + 30_000,
    })
    expect(troubleOfAnswer(answerOf(503), nowMs)?.until).toBeNull()
  })

  it.each<[string, number | null]>([
    ['https://api.github.com/repositories/1296269/pulls/5', 1296269],
    ['https://github.example/api/v3/repositories/7', 7],
    ['/repositories/7?x=1', 7],
    ['https://api.github.com/repos/acme/new/pulls/5', null],
    ['https://evil.example/repositories/7x', null],
    ['/repositories/99999999999999999999', null],
    ['', null],
  ])('with a redirect to %s names the repository %s', (location, repositoryId) => {
    const moved = answerOf(301, { headers: { location } })
    expect(troubleOfAnswer(moved, nowMs)).toMatchObject({ kind: 'redirected', repositoryId })
  })
})

const docs = 'https://docs.github.com'

describe('a limit', () => {
  it.each<[string, number, Given]>([
    ['429 bare', 429, {}],
    ['retry-after on a 403', 403, { headers: { 'retry-after': '5' } }],
    ['retry-after on a 422', 422, { headers: { 'retry-after': '5' } }],
    ['a retry-after that cannot be read', 403, { headers: { 'retry-after': 'soon' } }],
    ['nothing remaining', 403, { headers: { 'x-ratelimit-remaining': '0' } }],
    [
      'the page on limits',
      403,
      {
        body: { documentation_url: `${docs}/rest/using-the-rest-api/rate-limits-for-the-rest-api` },
      },
    ],
    [
      'the old page on limits',
      403,
      {
        body: {
          documentation_url: `${docs}/rest/overview/resources-in-the-rest-api#rate-limiting`,
        },
      },
    ],
    [
      'the page on secondary limits',
      422,
      { body: { documentation_url: `${docs}/en/rest/overview/x#secondary-rate-limits` } },
    ],
    [
      'the oldest page',
      403,
      { body: { documentation_url: 'https://developer.github.com/v3/#abuse-rate-limits' } },
    ],
    ['a message', 403, { body: { message: 'You have exceeded a secondary rate limit.' } }],
    ['an old message', 403, { body: { message: 'You have triggered an abuse detection…' } }],
    ['a bare line', 403, { body: 'API Rate Limit exceeded' }],
  ])('is recognized by %s', (_name, status, given) => {
    expect(kindOf(answerOf(status, given))).toBe('rate_limited')
  })

  it.each<[string, number, Given, GitHubErrorKind | undefined]>([
    ['a 403 about permissions', 403, { body: { message: 'Resource not accessible' } }, 'forbidden'],
    ['some remaining', 403, { headers: { 'x-ratelimit-remaining': '10' } }, 'forbidden'],
    ['the last call of the hour', 200, { headers: { 'x-ratelimit-remaining': '0' } }, undefined],
    ['the last, a 404', 404, { headers: { 'x-ratelimit-remaining': '0' } }, 'not_found'],
    ['the last, a 401', 401, { headers: { 'x-ratelimit-remaining': '0' } }, 'unauthorized'],
    ['the text in a 422', 422, { body: { message: 'a label named rate limit' } }, 'invalid'],
    ['the text in a 404', 404, { body: { message: 'Rate limit is not enabled' } }, 'not_found'],
    [
      'the reference of GET /rate_limit',
      404,
      { body: { documentation_url: `${docs}/rest/rate-limit/rate-limit#get-rate-limit-status` } },
      'not_found',
    ],
    ['a body that is no object', 403, { body: [] }, 'forbidden'],
    ['a body that is null', 403, { body: 'null' }, 'forbidden'],
    ['fields of another type', 403, { body: { message: 1, documentation_url: [] } }, 'forbidden'],
    ['retry-after on a 202', 202, { headers: { 'retry-after': '5' } }, undefined],
  ])('is not recognized by %s', (_name, status, given, kind) => {
    expect(kindOf(answerOf(status, given))).toBe(kind)
  })

  const used = { 'x-ratelimit-remaining': '0' }
  it.each<[string, Record<string, string>, number]>([
    ['seconds', { 'retry-after': '7' }, 7],
    ['an hour and more, never cut short', { 'retry-after': '90000' }, 90_000],
    ['a date', { 'retry-after': 'Sun, 15 Nov 2026 12:02:00 GMT' }, 120],
    [
      "a date by GitHub's clock, not ours",
      { 'retry-after': 'Sun, 15 Nov 2026 14:02:00 GMT', date: 'Sun, 15 Nov 2026 14:00:00 GMT' },
      120,
    ],
    ['zero, which is a moment', { 'retry-after': '0' }, 1],
    ['a date gone by', { 'retry-after': 'Sun, 15 Nov 2026 11:00:00 GMT' }, 1],
    ['retry-after before reset', { ...used, 'retry-after': '7', 'x-ratelimit-reset': '1' }, 7],
    ['the reset', { ...used, 'x-ratelimit-reset': inSeconds(1800) }, 1800],
    [
      "the reset by GitHub's clock, an hour ahead of ours",
      { ...used, 'x-ratelimit-reset': inSeconds(5400), date: 'Sun, 15 Nov 2026 13:00:00 GMT' },
      1800,
    ],
    ['a reset left over', { ...used, 'x-ratelimit-reset': inSeconds(-10) }, 60],
    ['a reset that does not count', { 'x-ratelimit-reset': inSeconds(1800) }, 60],
    ['a reset that cannot be read', { ...used, 'x-ratelimit-reset': 'later' }, 60],
    ['a retry-after that cannot be read', { 'retry-after': '-5' }, 60],
    ['nothing', {}, 60],
  ])('ends after the time from: %s', (_name, headers, seconds) => {
    const { until } = troubleOfAnswer(answerOf(429, { headers }), nowMs)!
    expect(until).toBe(nowMs + seconds * 1000)
  })
})

describe('a failed connection', () => {
  const failed = (code: string | undefined, syscall?: string) =>
    new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code, syscall }) })

  it.each<[string, unknown, GitHubErrorKind, string]>([
    ['refused', failed('ECONNREFUSED', 'connect'), 'network', 'ECONNREFUSED'],
    ['no such name', failed('ENOTFOUND', 'getaddrinfo'), 'network', 'ENOTFOUND'],
    ['no route', failed('EHOSTUNREACH', 'connect'), 'network', 'EHOSTUNREACH'],
    ['timeout while connecting', failed('ETIMEDOUT', 'connect'), 'network', 'ETIMEDOUT'],
    ['slow connection', failed('UND_ERR_CONNECT_TIMEOUT'), 'network', 'UND_ERR_CONNECT_TIMEOUT'],
    ['certificate', failed('CERT_HAS_EXPIRED'), 'network', 'CERT_HAS_EXPIRED'],
    ['timeout while reading', failed('ETIMEDOUT', 'read'), 'unanswered', 'ETIMEDOUT'],
    ['reset', failed('ECONNRESET', 'read'), 'unanswered', 'ECONNRESET'],
    ['closed', failed('UND_ERR_SOCKET'), 'unanswered', 'UND_ERR_SOCKET'],
    ['unknown', failed(undefined), 'unanswered', 'connection lost'],
    ['no error at all', 'what?', 'unanswered', 'connection lost'],
  ])('is classified: %s', (_name, error, kind, failure) => {
    expect(troubleOfFailure(error, false)).toMatchObject({ kind, failure })
  })

  it('counts as never opened only if all addresses failed to connect', () => {
    const each = ['connect', 'connect', 'read'].map((syscall) =>
      Object.assign(new Error('x'), { code: 'ECONNREFUSED', syscall }),
    )
    const all = new TypeError('x', { cause: new AggregateError(each.slice(0, 2)) })
    const some = new TypeError('x', { cause: new AggregateError(each) })
    const none = new TypeError('x', { cause: new AggregateError([]) })
    expect(troubleOfFailure(all, false).kind).toBe('network')
    expect(troubleOfFailure(some, false).kind).toBe('unanswered')
    expect(troubleOfFailure(none, false).kind).toBe('unanswered')
  })

  it('at the deadline is in doubt, whatever it was doing', () => {
    const late = troubleOfFailure(failed('ECONNREFUSED', 'connect'), true)
    expect(late).toMatchObject({ kind: 'unanswered', failure: 'timeout' })
  })

  it('does not repeat a code that is not a plain code', () => {
    expect(troubleOfFailure(failed('token=hunter2 '), false).failure).toBe('connection lost')
  })
})

it('an error says what failed and where in one line, and can be tested by its kind', () => {
  const facts = { route: 'GET /user', status: 502, requestId: 'req_1', githubRequestId: 'A:1' }
  const error = new GitHubError(trouble('unanswered'), facts)
  expect(error).toMatchObject({ ...facts, name: 'GitHubError', code: 'github_unanswered' })
  expect(error.message).toBe('GET /user: GitHub answered 502')
  expect(isGitHubError(error, 'network', 'unanswered')).toBe(true)
  expect(isGitHubError(error, 'network')).toBe(false)
  expect(isGitHubError(new Error('x'), 'network')).toBe(false)
})
