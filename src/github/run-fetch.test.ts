/**
 * Goal: the credentials go to GitHub's own host and nowhere else, nothing is repeated by itself,
 * and half an answer is no answer.
 * Method: the client of a run over real connections, with answers that the test writes.
 */
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startFakeApi, type FakeApi } from '../../test/github/fake-api.ts'
import { longToken, rejectionOf, theToken } from '../../test/github/github-under-test.ts'
import {
  clientUnderTest,
  owner,
  repo,
  type ClientUnderTest,
  type FailedRequest,
} from '../../test/github/run-client-under-test.ts'

let api: FakeApi
let elsewhere: FakeApi
let client: ClientUnderTest
beforeEach(async () => {
  api = await startFakeApi()
  elsewhere = await startFakeApi()
  client = await clientUnderTest(api.url, { credentials: { token: theToken } })
})
afterEach(async () => {
  await api.close()
  await elsewhere.close()
})

const path = `/repos/${owner}/${repo}`
const byId = '/repositories/77'
const get = () => client.octokit.rest.repos.get({ owner, repo })
const failureOf = async (request: Promise<unknown>): Promise<FailedRequest> =>
  (await rejectionOf(request)) as FailedRequest
const redirect = (location: string, status = 301) => ({ status, headers: { location } })

describe('a redirect', () => {
  it('of a GET is followed within the API, with the credentials', async () => {
    api.on(`GET ${path}`, redirect(`${api.url}${byId}`))
    api.on(`GET ${byId}`, { body: { id: 77 } })
    expect((await get()).data.id).toBe(77)
    const authorizations = api.seen.map(({ headers }) => headers.authorization)
    expect(authorizations).toEqual([`Bearer ${theToken}`, `Bearer ${theToken}`])
  })

  it('may be relative, and is followed a few times', async () => {
    api.on(`GET ${path}`, redirect('/1'))
    for (let at = 1; at < 5; at++) api.on(`GET /${at}`, redirect(`/${at + 1}`, 307))
    api.on('GET /5', { body: { id: 77 } })
    expect((await get()).data.id).toBe(77)
    api.on('GET /5', redirect('/1'))
    expect(await failureOf(get())).toMatchObject({ name: 'HttpError', status: 301 })
  })

  it('to another host is not followed, and nothing of it is shown', async () => {
    const secret = 'a-signed-address'
    api.on(`GET ${path}`, redirect(`${elsewhere.url}/file?token=${secret}`, 302))
    const failed = await failureOf(get())
    expect(failed).toMatchObject({ name: 'HttpError', status: 302 })
    expect(failed.message).toContain("request: { redirect: 'manual' }")
    expect(inspect(failed, { depth: 9 })).not.toContain(secret)
    expect(elsewhere.seen).toEqual([])
  })

  it('to another host is given to a caller that asks for it', async () => {
    const location = `${elsewhere.url}/file`
    api.on(`GET ${path}/tarball/main`, redirect(location, 302))
    const answer = await client.octokit.rest.repos.downloadTarballArchive({
      ...{ owner, repo, ref: 'main' },
      request: { redirect: 'manual' },
    })
    expect([answer.status, answer.headers.location]).toEqual([302, location])
    expect(elsewhere.seen).toEqual([])
  })

  it('of a write is not followed', async () => {
    const comments = `${path}/issues/5/comments`
    api.on(`POST ${comments}`, redirect(`${api.url}${byId}/issues/5/comments`, 307))
    const comment = { owner, repo, issue_number: 5, body: 'Hello' }
    const failed = await failureOf(client.octokit.rest.issues.createComment(comment))
    expect(failed).toMatchObject({ name: 'HttpError', status: 307 })
    expect(api.calls()).toEqual([`POST ${comments}`])
  })
})

describe('the credentials', () => {
  it('do not go to an address of another host', async () => {
    const { octokit } = client
    const failed = await failureOf(octokit.request(`GET ${elsewhere.url}/file`))
    expect(failed.message).toContain(`run.github asks only ${api.url}`)
    const { uploadReleaseAsset } = octokit.rest.repos
    const asset = { owner, repo, release_id: 1, name: 'a', data: 'b', baseUrl: elsewhere.url }
    await rejectionOf(uploadReleaseAsset(asset))
    expect([api.seen, elsewhere.seen]).toEqual([[], []])
  })

  it('are ours, whatever a caller sends', async () => {
    api.on(`GET ${path}`, { body: { id: 77 } })
    await client.octokit.rest.repos.get({ owner, repo, headers: { authorization: 'Bearer mine' } })
    expect(api.seen[0]!.headers.authorization).toBe(`Bearer ${theToken}`)
  })

  it('of an account are not replaced when they are refused', async () => {
    api.on(`GET ${path}`, { status: 401, body: { message: 'Bad credentials' } })
    expect(await failureOf(get())).toMatchObject({ status: 401, message: 'Bad credentials' })
    expect(api.calls()).toEqual([`GET ${path}`])
  })

  it('are in no error and no log', async () => {
    api.on(`GET ${path}`, { status: 500, body: { message: 'Server Error' } })
    const failed = await failureOf(get())
    expect(failed.request.headers).not.toHaveProperty('authorization')
    const printed = inspect([failed, client.lines, client.octokit], { depth: 12, showHidden: true })
    expect(printed).toContain('Request to GitHub for a run')
    expect(printed).not.toContain(theToken)
  })

  it('of an App are looked up by name, if the repository’s id is not known', async () => {
    const repository = { id: 77, full_name: `${owner}/${repo}` }
    const wide = { token: longToken('wide'), expires_at: '2026-11-15T13:00:00Z' }
    const narrow = { repository_selection: 'selected', repositories: [repository] }
    api.on(`GET ${path}/installation`, { body: { id: 9 } })
    api.on('GET /repositories/77/installation', { body: { id: 9 } })
    api.on(
      'POST /app/installations/9/access_tokens',
      { body: wide },
      { body: { ...wide, ...narrow, token: longToken('narrow'), permissions: {} } },
    )
    api.on(`GET ${path}`, { body: repository })
    client = await clientUnderTest(api.url)
    await get()
    expect(api.seen.at(-1)!.headers.authorization).toBe(`Bearer ${longToken('narrow')}`)
  })
})

describe('an answer', () => {
  it('that breaks off is an error, not an empty one', async () => {
    api.on(`GET ${path}`, (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' })
      response.write('{"id":')
      setImmediate(() => response.destroy())
    })
    const failed = await failureOf(get())
    expect(failed).toMatchObject({ name: 'HttpError', status: 500 })
    expect(failed.message).toContain('no answer from GitHub')
  })

  it('that never comes ends after a minute', async () => {
    const arrived = Promise.withResolvers<undefined>()
    api.on(`GET ${path}`, () => arrived.resolve(undefined))
    const { scheduler } = client
    const waiting = failureOf(get())
    await arrived.promise
    expect([...scheduler.timers.values()]).toEqual([60_000])
    scheduler.fire()
    expect((await waiting).message).toContain('timeout')
    expect(scheduler.timers.size).toBe(0)
  })

  it('of any type arrives unchanged', async () => {
    api.on(`GET ${path}/contents/a.bin`, (response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' })
      response.end(Buffer.from([0, 255, 1]))
    })
    const file = { owner, repo, path: 'a.bin' }
    const { data } = await client.octokit.rest.repos.getContent(file)
    expect(new Uint8Array(data as never)).toEqual(new Uint8Array([0, 255, 1]))
  })

  it('about another quota than that of all requests blocks nobody', async () => {
    const usedUp = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1900000000' }
    const body = { message: 'API rate limit exceeded' }
    const search = 'GET /search/code?q=x'
    api.on(search, { status: 403, headers: { ...usedUp, 'x-ratelimit-resource': 'search' }, body })
    const failed = await failureOf(client.octokit.rest.search.code({ q: 'x' }))
    expect([failed.status, client.held.blocks.size]).toEqual([403, 0])
    api.on(`GET ${path}`, { status: 403, headers: usedUp, body })
    expect((await failureOf(get())).status).toBe(403)
    expect([...client.held.blocks.keys()]).toEqual(['github:user'])
  })

  it('of GraphQL stops the GraphQL of this client until its reset, and nothing else', async () => {
    const { octokit, clock, held } = client
    const asked = () => api.calls().filter((call) => call === 'POST /graphql').length
    const reset = clock.wallMs() / 1000 + 120
    const headers = {
      date: new Date(clock.wallMs()).toUTCString(),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(reset),
      'x-ratelimit-resource': 'graphql',
    }
    const error = { type: 'RATE_LIMITED', message: 'API rate limit already exceeded' }
    api.on('POST /graphql', { headers, body: { errors: [error] } })
    const query = () => octokit.graphql('{ viewer { login } }')
    expect(await rejectionOf(query())).toMatchObject({ errors: [error] })
    expect(await failureOf(query())).toMatchObject({ status: 429 })
    expect(asked()).toBe(1)
    api.on(`GET ${path}`, { body: { id: 77 } })
    expect((await get()).data.id).toBe(77)
    expect(held.blocks.size).toBe(0)
    clock.pass(119_000)
    expect(await failureOf(query())).toMatchObject({ status: 429 })
    clock.pass(1000)
    api.on('POST /graphql', { body: { data: { viewer: { login: 'RATE_LIMITED' } } } })
    expect(await query()).toEqual({ viewer: { login: 'RATE_LIMITED' } })
    expect(await query()).toEqual({ viewer: { login: 'RATE_LIMITED' } })
    api.on('POST /graphql', { status: 403, headers, body: { message: 'rate limit' } })
    expect(await failureOf(query())).toMatchObject({ status: 403 })
    expect(held.blocks.size).toBe(0)
  })
})
