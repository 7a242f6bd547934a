// Goal: an App shows the right proof to each endpoint, requests tokens as rarely as it can, and
// tries exactly once more when GitHub refuses one.
import { verify } from 'node:crypto'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  startFakeApi,
  type FakeApi,
  type FakeAnswer,
  type Seen,
} from '../../../test/github/fake-api.ts'
import {
  appCredentials as credentials,
  appKeyPem,
  appPublicKey,
  clientOf,
  longToken,
  rejectionOf,
  named,
} from '../../../test/github/github-under-test.ts'

let api: FakeApi
beforeEach(async () => {
  api = await startFakeApi()
})
afterEach(() => api.close())

const hour = 3_600_000
const lookUp = 'GET /repos/acme/widgets/installation'
const mint = 'POST /app/installations/9/access_tokens'
const pull = 'GET /repos/acme/widgets/pulls/5'
const seenPull: FakeAnswer = {
  body: {
    head: { sha: 'b' },
    base: { sha: 'a' },
    state: 'open',
    updated_at: '2026-11-15T11:00:00Z',
  },
}

/** GitHub's answers have the client's own time unless a test sets another. */
function setUp(lifetimeMs = hour) {
  const client = clientOf(api.url, { credentials })
  const { clock } = client
  const date = () => ({ date: new Date(clock.wall).toUTCString() })
  let minted = 0
  api.on(lookUp, (response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...date() })
    response.end('{"id":9}')
  })
  api.on(mint, (response) => {
    const token = longToken(`m${(minted += 1)}`)
    const expires_at = new Date(clock.wall + lifetimeMs).toISOString()
    response.writeHead(201, { 'content-type': 'application/json', ...date() })
    response.end(JSON.stringify({ token, expires_at }))
  })
  api.on(pull, seenPull)
  const look = () => client.github.headOf(named('acme/widgets'), 5)
  return { ...client, look }
}

const authorizations = (path: string) =>
  api.seen.filter((call) => call.path === path).map(({ headers }) => headers.authorization)

interface Claims {
  readonly iat: number
  readonly exp: number
  readonly iss: string
}

function claimsOf({ headers }: Seen): Claims {
  const [, head, body, signature] = /^Bearer (.+)\.(.+)\.(.+)$/.exec(headers.authorization!)!
  const signed = Buffer.from(`${head!}.${body!}`)
  const isOurs = verify('sha256', signed, appPublicKey, Buffer.from(signature!, 'base64url'))
  expect(isOurs).toBe(true)
  return JSON.parse(Buffer.from(body!, 'base64url').toString()) as Claims
}

describe('a call in a repository', () => {
  it('finds the installation as the App and uses its token, of any length', async () => {
    const { look, clock } = setUp()
    expect(await look()).toMatchObject({ headSha: 'b' })
    expect(api.calls()).toEqual([lookUp, mint, pull])
    const now = clock.wall / 1000
    expect(claimsOf(api.seen[0]!)).toEqual({ iat: now - 60, exp: now + 540, iss: '12' })
    expect(claimsOf(api.seen[1]!).iss).toBe('12')
    expect(authorizations('/repos/acme/widgets/pulls/5')).toEqual([`Bearer ${longToken('m1')}`])
  })

  it('reuses both, and renews the token before it expires', async () => {
    const { look, clock } = setUp()
    await look()
    clock.pass(hour - 5 * 60_000 - 1)
    await look()
    expect(api.calls().filter((call) => call !== pull)).toEqual([lookUp, mint])
    clock.pass(1)
    await look()
    expect(api.calls().filter((call) => call === mint)).toHaveLength(2)
    expect(authorizations('/repos/acme/widgets/pulls/5').at(-1)).toBe(`Bearer ${longToken('m2')}`)
  })

  it('uses a token with less time than our margin once, and does not keep it', async () => {
    const { look } = setUp(60_000)
    await look()
    await look()
    expect(api.calls()).toEqual([lookUp, mint, pull, mint, pull])
  })

  it('shares one new token with other calls at the same time', async () => {
    const { look } = setUp()
    await Promise.all([look(), look(), look()])
    expect(api.calls().filter((call) => call !== pull)).toEqual([lookUp, mint])
  })

  it('never uses the token of another client in the process, whatever the ids are', async () => {
    const other = await startFakeApi()
    try {
      const { look } = setUp()
      other.on(lookUp, { body: { id: 9 } })
      other.on(mint, { body: { token: longToken('other'), expires_at: '2999-01-01T00:00:00Z' } })
      other.on(pull, seenPull)
      const otherClient = clientOf(other.url, { credentials })
      await Promise.all([look(), otherClient.github.headOf(named('acme/widgets'), 5)])
      expect(other.seen.at(-1)!.headers.authorization).toBe(`Bearer ${longToken('other')}`)
      expect(api.seen.at(-1)!.headers.authorization).toBe(`Bearer ${longToken('m1')}`)
    } finally {
      await other.close()
    }
  })
})

describe('a refused token', () => {
  it('is replaced, and the call is repeated', async () => {
    const { look } = setUp()
    await look()
    api.on(pull, { status: 401 }, seenPull)
    expect(await look()).toMatchObject({ headSha: 'b' })
    expect(api.calls()).toEqual([lookUp, mint, pull, pull, lookUp, mint, pull])
    expect(authorizations('/repos/acme/widgets/pulls/5').at(-1)).toBe(`Bearer ${longToken('m2')}`)
  })

  it('is replaced only once', async () => {
    const { look } = setUp()
    api.on(pull, { status: 401 })
    expect(await rejectionOf(look())).toMatchObject({ kind: 'unauthorized', status: 401 })
    expect(api.calls()).toEqual([lookUp, mint, pull, lookUp, mint, pull])
  })

  it('is replaced once for two calls at the same time', async () => {
    const { look } = setUp()
    await look()
    let refused = 0
    const bothRefused = Promise.withResolvers<undefined>()
    api.on(pull, (response, { headers }) => {
      const isOld = headers.authorization === `Bearer ${longToken('m1')}`
      if (isOld && (refused += 1) === 2) bothRefused.resolve(undefined)
      const answer = () => {
        response.writeHead(isOld ? 401 : 200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(seenPull.body))
      }
      if (isOld) void bothRefused.promise.then(answer)
      else answer()
    })
    await Promise.all([look(), look()])
    expect(api.calls().filter((call) => call === mint)).toHaveLength(2)
  })

  it('of the App itself is replaced once, too, with GitHub’s time', async () => {
    const { look, clock } = setUp()
    const theirs = clock.wall + hour
    const date = new Date(theirs).toUTCString()
    api.on(lookUp, { status: 401, headers: { date } }, { body: { id: 9 }, headers: { date } })
    await look()
    const [first, second] = api.seen.map((call) => (call.path.includes('pulls') ? null : call))
    expect(claimsOf(first!).exp).toBe(clock.wall / 1000 + 540)
    expect(claimsOf(second!).exp).toBe(theirs / 1000 + 540)
  })

  it('of an App that GitHub does not know is replaced only once', async () => {
    const { look } = setUp()
    api.on(lookUp, { status: 401 })
    expect(await rejectionOf(look())).toMatchObject({ kind: 'unauthorized' })
    expect(api.calls()).toEqual([lookUp, lookUp])
  })
})

describe('an installation', () => {
  it('that does not exist is not reported as a missing pull request or person', async () => {
    const { look, github } = setUp()
    api.on(lookUp, { status: 404 })
    expect(await rejectionOf(look())).toMatchObject({ kind: 'not_installed', status: 404 })
    expect(await github.roleOf(named('acme/widgets'), 'mona')).toBe('cannot-ask')
  })

  it('is looked up again after a 404, with the same token', async () => {
    const { look } = setUp()
    const repository = 'GET /repos/acme/widgets'
    api.on(pull, { status: 404 }, seenPull)
    api.on(repository, { body: { id: 77, full_name: 'acme/widgets' } })
    expect(await look()).toBeNull()
    expect(await look()).toMatchObject({ headSha: 'b' })
    expect(api.calls()).toEqual([lookUp, mint, pull, lookUp, repository, pull])
  })

  it('that was created again is found at once', async () => {
    const { look, clock } = setUp()
    await look()
    clock.pass(hour - 5 * 60_000)
    api.on(lookUp, { body: { id: 10 } })
    api.on(mint, { status: 404 })
    const mintAnew = 'POST /app/installations/10/access_tokens'
    api.on(mintAnew, { body: { token: longToken('new'), expires_at: '2999-01-01T00:00:00Z' } })
    expect(await look()).toMatchObject({ headSha: 'b' })
    expect(api.calls().slice(3)).toEqual([mint, lookUp, mintAnew, pull])
  })

  it('that returns no token and has no other id counts as not installed', async () => {
    const { look } = setUp()
    api.on(mint, { status: 404 })
    expect(await rejectionOf(look())).toMatchObject({ kind: 'not_installed' })
    expect(api.calls()).toEqual([lookUp, mint, lookUp])
  })

  it('that is suspended counts as not installed', async () => {
    const { look, github } = setUp()
    api.on(mint, { status: 403 })
    expect(await rejectionOf(look())).toMatchObject({ kind: 'not_installed' })
    expect(await github.roleOf(named('acme/widgets'), 'mona')).toBe('cannot-ask')
  })

  it('that meets a limit while it requests a token reports a limit', async () => {
    const { github } = setUp()
    api.on(mint, { status: 403, headers: { 'retry-after': '60' } })
    const error = await rejectionOf(github.roleOf(named('acme/widgets'), 'mona'))
    expect(error).toMatchObject({ kind: 'rate_limited' })
  })

  it('of a renamed repository is found by the repository’s id', async () => {
    const { look } = setUp()
    const location = 'https://api.github.com/repositories/77/installation'
    api.on(lookUp, { status: 301, headers: { location } })
    api.on('GET /repositories/77/installation', { body: { id: 9 } })
    api.on('GET /repositories/77', { body: { id: 77, full_name: 'acme/gadgets' } })
    api.on('GET /repositories/77/pulls/5', seenPull)
    expect(await look()).toMatchObject({ headSha: 'b' })
    expect(api.calls()).toEqual([
      lookUp,
      'GET /repositories/77/installation',
      mint,
      'GET /repositories/77',
      'GET /repositories/77/pulls/5',
    ])
  })
})

describe('ownAccount as an App', () => {
  const app: FakeAnswer = { body: { slug: 'holdfast-bot', id: 12 } }
  const bot = 'GET /users/holdfast-bot%5Bbot%5D'
  const list = 'GET /app/installations?per_page=100'

  it('is the App and its bot, requested with the token of an active installation', async () => {
    const { github } = setUp()
    api.on('GET /app', app)
    api.on(list, { body: [{ id: 8, suspended_at: '2026-01-01T00:00:00Z' }, { id: 9 }] })
    api.on(bot, { body: { login: 'holdfast-bot[bot]', id: 4242 } })
    expect(await github.ownAccount()).toEqual({
      login: 'holdfast-bot',
      id: 4242,
      appId: 12,
      kind: 'app',
    })
    expect(api.calls()).toEqual(['GET /app', list, mint, bot])
    expect(api.seen.at(-1)!.headers.authorization).toBe(`Bearer ${longToken('m1')}`)
  })

  it('is requested without a token if the App is installed nowhere', async () => {
    const { github } = setUp()
    api.on('GET /app', app)
    api.on(list, { body: [] })
    api.on(bot, { body: { login: 'holdfast-bot[bot]', id: 4242 } })
    expect(await github.ownAccount()).toMatchObject({ id: 4242 })
    expect(api.seen.at(-1)!.headers.authorization).toBeUndefined()
  })

  it.each([401, 403, 404])('has no id if GitHub refuses to show the bot (%i)', async (status) => {
    const { github } = setUp()
    api.on('GET /app', app)
    api.on(list, { body: [] })
    api.on(bot, { status })
    expect(await github.ownAccount()).toEqual({
      login: 'holdfast-bot',
      id: null,
      appId: 12,
      kind: 'app',
    })
  })

  it.each([429, 500])('rejects if the bot could not be requested (%i)', async (status) => {
    const { github } = setUp()
    api.on('GET /app', app)
    api.on(list, { body: [] })
    api.on(bot, { status })
    expect(await rejectionOf(github.ownAccount())).toMatchObject({ status })
  })

  it.each([401, 403, 404])('is null if the App is refused or unknown (%i)', async (status) => {
    const { github } = setUp()
    api.on('GET /app', { status })
    expect(await github.ownAccount()).toBeNull()
  })
})

describe('the private key', () => {
  it('may contain its line ends as \\n', async () => {
    api.on(lookUp, { status: 404 })
    const privateKey = appKeyPem.replaceAll('\n', '\\n')
    const { github } = clientOf(api.url, { credentials: { appId: 'Iv1.abc', privateKey } })
    await rejectionOf(github.headOf(named('acme/widgets'), 5))
    expect(claimsOf(api.seen[0]!).iss).toBe('Iv1.abc')
  })

  it.each([
    ['cannot be read', appKeyPem.replace(/M..../, 'hunter2')],
    ['cannot be read', 'hunter2'],
  ])('that %s is refused without being shown', (problem, privateKey) => {
    let error: unknown
    try {
      clientOf(api.url, { credentials: { appId: '12', privateKey } })
    } catch (thrown) {
      error = thrown
    }
    expect(error).toMatchObject({ code: 'github_private_key' })
    expect((error as Error).message).toContain(problem)
    expect(inspect(error, { showHidden: true, depth: 20 })).not.toContain('hunter2')
  })
})

it('no token, proof or key appears in an error or log', async () => {
  const { look, lines } = setUp()
  api.on(pull, { status: 403 })
  const error = await rejectionOf(look())
  const everything =
    inspect([error, lines], { showHidden: true, depth: 20 }) + JSON.stringify(lines)
  expect(lines).toHaveLength(3)
  expect(everything).not.toMatch(/ghs_|Bearer|eyJ|PRIVATE KEY/)
})
