// Goal: credentials give the access that GitHub's would, for as long. An App's JSON web token must
// follow GitHub's rules, and the product's own follows them.
import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { appJwt, installationToken, makeJwt } from '../../../test/simulator/app-token.ts'
import {
  baseSha,
  headSha,
  repo,
  startSimulatorClient,
  thread,
  type SimulatorClient,
} from '../../../test/simulator/simulator-client.ts'
import { makeAppJwt } from '../../github/credentials/app-jwt.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const app = {
  id: 12,
  slug: 'holdfast',
  publicKey: publicKey.export({ type: 'spki', format: 'pem' }) as string,
}

describe('a token of an account', () => {
  it('is accepted when it was given; any other is refused', async () => {
    const client = await startSimulatorClient({ tokens: [{ token: 'ghp_ours', login: 'our-bot' }] })
    expect((await client.request('GET /user', { token: 'ghp_ours' })).data.login).toBe('our-bot')
    const { status, data } = await client.request('GET /user', { token: 'ghp_theirs' })
    expect(status).toBe(401)
    expect(data).toMatchObject({ message: 'Bad credentials', status: '401' })
    expect(client.github.requests.map(({ identity }) => identity)).toEqual(['our-bot', null])
    expect(client.github.requests[0]!.headers).not.toHaveProperty('authorization')
  })

  it('can be any where the option says so, with both schemes', async () => {
    const tokens = [{ token: 'ghp_ours', login: 'our-bot' }]
    const { github } = await startSimulatorClient({ tokens, acceptAnyToken: true })
    for (const authorization of ['token x', 'Bearer y', 'bearer ghp_ours']) {
      const headers = { authorization }
      const response = await github.fetch('https://api.github.com/user', { headers })
      expect(await response.json()).toMatchObject({ login: 'our-bot' })
    }
    const headers = { authorization: 'Basic x' }
    expect((await github.fetch('https://api.github.com/user', { headers })).status).toBe(401)
  })
})

describe('an App', () => {
  let client: SimulatorClient
  let now: number
  beforeEach(async () => {
    client = await startSimulatorClient({ app })
    now = Math.floor(client.time.clock.wallMs() / 1000)
  })

  it('signs in with its key', async () => {
    const token = makeAppJwt('12', privateKey, client.time.clock.wallMs())
    const { status, data } = await client.request('GET /app', { token })
    expect(status).toBe(200)
    expect(data).toMatchObject({ id: 12, slug: 'holdfast', installations_count: 1 })
  })

  it.each([
    ['another key', () => makeJwt(other, { iss: 12, iat: now, exp: now + 60 }), 401],
    [
      'another scheme',
      () => makeJwt(privateKey, { iss: 12, iat: now, exp: now + 60 }, 'HS256'),
      401,
    ],
    ['a time ahead', () => makeJwt(privateKey, { iss: 12, iat: now + 1, exp: now + 60 }), 401],
    ['too long a time', () => makeJwt(privateKey, { iss: 12, iat: now, exp: now + 601 }), 401],
    ['a time gone by', () => makeJwt(privateKey, { iss: 12, iat: now - 60, exp: now }), 401],
    ['no time', () => makeJwt(privateKey, { iss: 12, iat: now }), 401],
    ['the name of another', () => makeJwt(privateKey, { iss: 13, iat: now, exp: now + 60 }), 404],
  ])('is refused with %s', async (_what, jwt, status) => {
    expect((await client.request('GET /app', { token: jwt() })).status).toBe(status)
  })

  it('finds its installation by repository, name or id', async () => {
    const token = appJwt(client, 12, privateKey)
    const { id } = client.github.repository(repo)
    const byName = await client.request(`GET /repos/${repo}/installation`, { token })
    expect(byName.data).toMatchObject({ app_id: 12, account: { login: 'acme' } })
    const byId = await client.request(`GET /repositories/${id}/installation`, { token })
    expect(byId.data.id).toBe(byName.data.id)
    client.github.rename(repo, 'acme/gadgets')
    expect((await client.request(`GET /repos/${repo}/installation`, { token })).status).toBe(301)
    client.github.uninstallApp('acme')
    expect((await client.request('GET /repos/acme/gadgets/installation', { token })).status).toBe(
      404,
    )
  })

  it('acts as its bot with a long token, for an hour', async () => {
    const token = await installationToken(client, 12, privateKey)
    expect(token).toMatch(/^ghs_12_[\w-]+\.[\w-]+\.[\w-]+$/)
    expect(token.length).toBeGreaterThan(500)
    const post = () => client.request(`POST ${thread}/comments`, { token, body: { body: 'x' } })
    expect((await post()).data).toMatchObject({
      user: { login: 'holdfast[bot]', type: 'Bot' },
      performed_via_github_app: { id: 12 },
    })
    client.time.pass(60 * 60 * 1000 - 1)
    expect((await post()).status).toBe(201)
    client.time.pass(1)
    expect((await post()).status).toBe(401)
    expect((await client.request('GET /user', { token: await fresh() })).status).toBe(403)
  })

  const fresh = (body?: object) => installationToken(client, 12, privateKey, body)

  it('can narrow a token to repositories and permissions', async () => {
    client.github.addRepository('acme/other')
    client.github.addIssue('acme/other', { number: 1 })
    const token = await fresh({ repositories: ['other'], permissions: { issues: 'write' } })
    const { id } = client.github.repository('acme/other')
    expect(client.github.requests.at(-1)!.status).toBe(201)
    const comment = { token, body: { body: 'x' } }
    const status = { token, body: { state: 'pending' } }
    const results = [
      await client.request('POST /repos/acme/other/issues/1/comments', comment),
      await client.request(`POST ${thread}/comments`, comment),
      await client.request(`POST /repos/acme/other/statuses/${'a'.repeat(40)}`, status),
    ]
    expect(results.map((each) => each.status)).toEqual([201, 403, 403])
    expect(results[1]!.data.message).toBe('Resource not accessible by integration')
    const narrowed = await client.request(mintCall(), {
      token: appJwt(client, 12, privateKey),
      body: { repository_ids: [id] },
    })
    expect(narrowed.data).toMatchObject({
      repository_selection: 'selected',
      repositories: [{ id }],
      expires_at: '2026-11-15T13:00:00Z',
    })
  })

  const mintCall = () => {
    const minted = client.github.requests.findLast(({ path }) => path.endsWith('/access_tokens'))
    return `POST ${minted!.path}`
  }

  it('cannot give a token permissions that it does not have', async () => {
    await fresh()
    const token = appJwt(client, 12, privateKey)
    const ask = (body: object) => client.request(mintCall(), { token, body })
    expect((await ask({ permissions: { contents: 'write' } })).status).toBe(422)
    expect((await ask({ repositories: ['nothing'] })).status).toBe(422)
    expect((await client.request(mintCall(), { token: await fresh() })).status).toBe(401)
  })

  it('gives a token of a private repository what was named, and nothing else', async () => {
    for (const name of ['acme/hidden', 'acme/other']) {
      client.github.addRepository(name, { private: true })
      client.github.addPull(name, { number: 1, headSha, baseSha })
    }
    const { id } = client.github.repository('acme/hidden')
    const token = await fresh({ repository_ids: [id], permissions: { pull_requests: 'read' } })
    const statusOf = async (call: string, body?: object) =>
      (await client.request(call, { token, body })).status
    expect([
      await statusOf('GET /repos/acme/hidden'),
      await statusOf('GET /repos/acme/hidden/pulls/1'),
      await statusOf(`GET /repositories/${id}/pulls/1`),
    ]).toEqual([200, 200, 200])
    expect(await statusOf('POST /repos/acme/hidden/pulls/1/reviews', { body: 'x' })).toBe(403)
    expect(await statusOf(`GET /repos/acme/hidden/commits/${headSha}/statuses`)).toBe(403)
    expect(await statusOf('GET /repos/acme/other/pulls/1')).toBe(404)
  })

  it('includes lower levels in a higher one, and knows no other levels', async () => {
    const admin = { repository_projects: 'admin', issues: 'write', metadata: 'read' }
    client = await startSimulatorClient({ app: { ...app, permissions: admin } })
    await fresh()
    const ask = async (permissions: object) => {
      const token = appJwt(client, 12, privateKey)
      return (await client.request(mintCall(), { token, body: { permissions } })).status
    }
    expect(await ask({ repository_projects: 'write', issues: 'read' })).toBe(201)
    expect(await ask({ repository_projects: 'admin' })).toBe(201)
    expect(await ask({ issues: 'admin' })).toBe(422)
    expect(await ask({ issues: 'all' })).toBe(422)
  })

  it('gives no token for a repository that it was taken away from', async () => {
    const { id } = client.github.repository(repo)
    await fresh()
    client.github.restrict(repo)
    const asked = { token: appJwt(client, 12, privateKey), body: { repository_ids: [id] } }
    const { status, data } = await client.request(mintCall(), asked)
    expect([status, data.message]).toEqual([422, expect.stringContaining('not accessible')])
  })

  it('has limits per installation', async () => {
    client.github.addRepository('umbrella/x')
    const token = await fresh()
    const { faults } = client.github
    faults.add({ on: { identity: 'holdfast[bot]' }, fault: faults.blocked() })
    expect((await client.request(`GET ${thread}`, { token })).status).toBe(403)
    const jwt = appJwt(client, 12, privateKey)
    const { data } = await client.request('GET /app/installations', { token: jwt })
    expect(data).toHaveLength(2)
    const minted = await client.request(`POST /app/installations/${data[1].id}/access_tokens`, {
      token: jwt,
    })
    const call = 'GET /repos/umbrella/x'
    expect((await client.request(call, { token: minted.data.token })).status).toBe(200)
  })
})
