// Goal: what is written to GitHub arrives unchanged, not after its deadline, and in the right
// repository, whatever its name is now.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { startFakeApi, type FakeApi } from '../../test/github/fake-api.ts'
import {
  appCredentials,
  clientOf,
  longToken,
  rejectionOf,
  theToken,
} from '../../test/github/github-under-test.ts'
import { budgetParams } from '../contract/deliveries.ts'
import type { RepositoryRef } from '../github.ts'

let api: FakeApi
beforeEach(async () => {
  api = await startFakeApi()
})
afterEach(() => api.close())

const comments = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
const here: RepositoryRef = { repo: 'acme/widgets', repoGithubId: null }
const idForm = z.object({ id: z.number() })
const post = 'POST /repos/acme/widgets/issues/5/comments'
const made = { status: 201, headers: { link: '<x>; rel="next"' }, body: { id: 9 } }
const toId = (path: string) => ({
  status: 301,
  headers: { location: `https://api.github.com/repositories/77/${path}` },
})

const write = ({ github }: ReturnType<typeof clientOf>, where = here, sendBy = 0) =>
  github.call(where, idForm, comments, { issue_number: 5, body: 'hello' }, sendBy)

describe('a call', () => {
  it('sends parameters that are not in its path as the body, and returns headers', async () => {
    api.on(post, made)
    const reply = await write(clientOf(api.url))
    expect(reply).toMatchObject({ data: { id: 9 }, headers: { link: '<x>; rel="next"' } })
    expect(api.seen[0]).toMatchObject({
      body: { body: 'hello' },
      headers: { authorization: `Bearer ${theToken}` },
    })
    expect(api.seen[0]!.headers['content-type']).toMatch(/^application\/json/)
  })

  it('may have an empty answer', async () => {
    api.on('DELETE /repos/acme/widgets/issues/comments/9', (response) => {
      response.writeHead(204).end()
    })
    const route = 'DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}'
    await clientOf(api.url).github.call(here, z.unknown(), route, { comment_id: 9 }, 0)
    expect(api.seen[0]!.body).toBeNull()
  })

  it('is sent up to its last moment, and not after it', async () => {
    api.on(post, made)
    const client = clientOf(api.url)
    client.clock.pass(500)
    await write(client, here, 500)
    const error = await rejectionOf(write(client, here, 499))
    expect(error).toMatchObject({ kind: 'too_late', code: 'github_too_late', status: null })
    expect(api.calls()).toEqual([post])
  })

  it('is not sent if its time runs out while a token is requested', async () => {
    const client = clientOf(api.url, { credentials: appCredentials })
    api.on('GET /repos/acme/widgets/installation', { body: { id: 3 } })
    api.on('POST /app/installations/3/access_tokens', (response) => {
      client.clock.pass(1001)
      response.writeHead(201, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ token: longToken('m'), expires_at: '2026-11-15T13:00:00Z' }))
    })
    expect(await rejectionOf(write(client, here, 1000))).toMatchObject({ kind: 'too_late' })
    expect(api.calls()).not.toContain(post)
  })

  it('is sent once more with a new token if GitHub refuses the first one', async () => {
    const client = clientOf(api.url, { credentials: appCredentials })
    api.on('GET /repos/acme/widgets/installation', { body: { id: 3 } })
    const tokenOf = (mark: string) => ({
      status: 201,
      body: { token: longToken(mark), expires_at: '2026-11-15T13:00:00Z' },
    })
    api.on('POST /app/installations/3/access_tokens', tokenOf('one'), tokenOf('two'))
    api.on(post, { status: 401 }, made)
    expect((await write(client)).data.id).toBe(9)
    const sent = api.seen.filter(({ path }) => path.endsWith('/comments'))
    expect(sent.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${longToken('one')}`,
      `Bearer ${longToken('two')}`,
    ])
    expect(sent.map(({ body }) => body)).toEqual([{ body: 'hello' }, { body: 'hello' }])
  })
})

describe('a repository that was renamed', () => {
  const renamed: unknown[] = []
  const client = () => clientOf(api.url, { onRenamed: (id, name) => void renamed.push([id, name]) })
  beforeEach(() => {
    renamed.length = 0
    api.on('GET /repositories/77', { body: { id: 77, full_name: 'acme/gadgets' } })
    api.on('POST /repositories/77/issues/5/comments', made)
  })

  it('is written to by its id, and its new name is reported', async () => {
    api.on(post, toId('issues/5/comments'))
    expect((await write(client())).data.id).toBe(9)
    expect(api.calls().at(-1)).toBe('POST /repositories/77/issues/5/comments')
    expect(api.seen.at(-1)!.body).toEqual({ body: 'hello' })
    expect(renamed).toEqual([[77, 'acme/gadgets']])
  })

  it('is never requested by its name if its id is known', async () => {
    await write(client(), { ...here, repoGithubId: 77 })
    expect(api.calls()).toEqual(['POST /repositories/77/issues/5/comments'])
  })

  it('is found by its old name and by its new name', async () => {
    api.on('GET /repos/acme/widgets', {
      status: 301,
      headers: { location: `${api.url}/repositories/77` },
    })
    api.on('GET /repos/acme/gadgets', { body: { id: 77, full_name: 'acme/gadgets' } })
    const { github } = clientOf(api.url)
    const found = { githubId: 77, name: 'acme/gadgets' }
    expect(await github.repositoryNamed('acme/widgets')).toEqual(found)
    expect(await github.repositoryNamed('acme/gadgets')).toEqual(found)
  })

  it('is not followed for an issue that was moved, because that has another number', async () => {
    api.on(post, toId('issues/77/comments'))
    expect(await rejectionOf(write(client()))).toMatchObject({ kind: 'redirected' })
    expect(api.calls()).toEqual([post])
    const byId = 'POST /repositories/7/issues/5/comments'
    api.on(byId, toId('issues/77/comments'))
    const error = await rejectionOf(write(client(), { ...here, repoGithubId: 7 }))
    expect(error).toMatchObject({ kind: 'redirected' })
    expect(api.calls()).toEqual([post, byId])
    expect(renamed).toEqual([])
  })
})

describe('the identity that shares limits', () => {
  it('can be named in a request', async () => {
    api.on('GET /repos/acme/widgets/installation', { body: { id: 3 } })
    for (const options of [{}, { credentials: appCredentials }]) {
      const identity = await clientOf(api.url, options).github.identityOf(here)
      expect(budgetParams.parse({ identity })).toEqual({ identity })
    }
  })

  it('is the user for one token', async () => {
    expect(await clientOf(api.url).github.identityOf(here)).toBe('github:user')
    expect(api.calls()).toEqual([])
  })

  it('is the installation for an App, and is requested once', async () => {
    api.on('GET /repos/acme/widgets/installation', { body: { id: 3 } })
    const { github } = clientOf(api.url, { credentials: appCredentials })
    expect(await github.identityOf(here)).toBe('github:installation:3')
    expect(await github.identityOf(here)).toBe('github:installation:3')
    expect(api.calls()).toHaveLength(1)
  })
})

describe("GitHub's clock", () => {
  it('is unknown before its first answer', () => {
    const { github, clock } = clientOf(api.url)
    expect(github.githubTimeOf(clock.wall)).toBeNull()
  })

  it('is known after that, for times that have passed', async () => {
    api.on(post, { ...made, headers: { date: 'Sun, 15 Nov 2026 13:00:00 GMT' } })
    const client = clientOf(api.url)
    await write(client)
    const hour = 60 * 60_000
    const { wall } = client.clock
    expect(client.github.githubTimeOf(wall - 5)).toBe(wall - 5 + hour)
    expect(client.github.githubTimeOf(wall + hour)).toBeNull()
  })
})
