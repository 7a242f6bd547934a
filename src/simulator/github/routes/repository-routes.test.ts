// Goal: names, ids and permissions of a repository work as on GitHub.
import { beforeEach, describe, expect, it } from 'vitest'
import {
  baseSha,
  headSha,
  number,
  repo,
  startSimulatorClient,
  thread,
  type SimulatorClient,
} from '../../../../test/simulator/simulator-client.ts'

let client: SimulatorClient
beforeEach(async () => {
  client = await startSimulatorClient()
})

describe('a renamed repository', () => {
  beforeEach(() => client.github.rename(repo, 'acme/gadgets'))

  it('redirects to its id, with the whole path and query', async () => {
    const { id } = client.github.repository('acme/gadgets')
    const { status, headers, data } = await client.request(`GET ${thread}/comments?per_page=5`)
    const url = `https://api.github.com/repositories/${id}/issues/${number}/comments?per_page=5`
    expect(status).toBe(301)
    expect(headers.get('location')).toBe(url)
    expect(data).toMatchObject({ message: 'Moved Permanently', url })
    expect(data.documentation_url).toContain('https://docs.github.com/rest')
  })

  it('refuses a write under the old name, and accepts it under the new one or the id', async () => {
    const { id } = client.github.repository(repo)
    const body = { body: { body: 'x' } }
    expect((await client.request(`POST ${thread}/comments`, body)).status).toBe(301)
    expect(client.github.comments(repo, number)).toEqual([])
    const path = `/issues/${number}/comments`
    expect((await client.request(`POST /repos/acme/gadgets${path}`, body)).status).toBe(201)
    expect((await client.request(`POST /repositories/${id}${path}`, body)).status).toBe(201)
    expect(client.github.count('POST /repos/{owner}/{repo}/issues/{n}/comments')).toBe(3)
    expect((await client.request(`GET /repositories/${id}`)).data.full_name).toBe('acme/gadgets')
    expect((await client.request('GET /repositories/1/issues/1')).status).toBe(404)
  })

  it('leaves its old name to a new repository', async () => {
    const { id } = client.github.addRepository(repo)
    expect((await client.request(`GET /repos/${repo}`)).data.id).toBe(id)
    expect((await client.request(`GET ${thread}`)).status).toBe(404)
  })

  it('is followed by fetch as usual: a POST arrives as a GET', async () => {
    const response = await client.github.fetch(`https://api.github.com${thread}/comments`, {
      method: 'POST',
      headers: { authorization: 'token x' },
      body: JSON.stringify({ body: 'x' }),
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual([])
    expect(client.github.requests.map(({ method }) => method)).toEqual(['POST', 'GET'])
  })
})

describe('a repository', () => {
  it('has a name that ignores case', async () => {
    expect((await client.request('GET /repos/ACME/Widgets')).data.full_name).toBe(repo)
    expect(() => client.github.addRepository('Acme/Widgets')).toThrow('already')
  })

  it('that we lost is answered 404 everywhere, until it is allowed again', async () => {
    const { id } = client.github.repository(repo)
    const calls = [`GET /repos/${repo}`, `GET /repositories/${id}`, `GET ${thread}/comments`]
    const statuses = () =>
      Promise.all(calls.map(async (call) => (await client.request(call)).status))
    client.github.restrict(repo)
    expect(await statuses()).toEqual([404, 404, 404])
    client.github.allow(repo)
    expect(await statuses()).toEqual([200, 200, 200])
  })

  it('that is private is visible only with a role', async () => {
    client.github.addRepository('acme/secret', { private: true })
    const statusAs = async (token: string | null) =>
      (await client.request('GET /repos/acme/secret', { token })).status
    client.github.setRole('acme/secret', 'stranger', 'none')
    client.github.addToken('stranger', 'ghp_stranger')
    expect(await statusAs('ghp_any')).toBe(200)
    expect(await statusAs('ghp_stranger')).toBe(404)
    expect(await statusAs(null)).toBe(404)
    client.github.setRole('acme/secret', 'stranger', 'read')
    expect(await statusAs('ghp_stranger')).toBe(200)
  })

  it('can be read without a token, but not written', async () => {
    expect((await client.request(`GET ${thread}`, { token: null })).status).toBe(200)
    const write = { token: null, body: { body: 'x' } }
    expect(await client.request(`POST ${thread}/comments`, write)).toMatchObject({
      status: 401,
      data: { message: 'Requires authentication' },
    })
  })

  it.each([
    ['admin', 'admin'],
    ['maintain', 'write'],
    ['write', 'write'],
    ['triage', 'read'],
    ['none', 'none'],
  ] as const)('shows the role %s, which is %s in the older field', async (role, permission) => {
    client.github.setRole(repo, 'Octocat', role)
    const call = `GET /repos/${repo}/collaborators/octocat/permission`
    expect((await client.request(call)).data).toMatchObject({ permission, role_name: role })
  })

  it('answers 404 for an unknown user', async () => {
    const call = `GET /repos/${repo}/collaborators/nobody/permission`
    expect((await client.request(call)).status).toBe(404)
    expect((await client.request('GET /users/nobody')).status).toBe(404)
    expect((await client.request('GET /users/OctoCat')).data.login).toBe('octocat')
    expect((await client.request('GET /user')).data.login).toBe('holdfast-bot')
  })
})

describe('pull requests', () => {
  it('are issues too, and follow pushes, closing and edits', async () => {
    const pull = `GET /repos/${repo}/pulls/${number}`
    expect((await client.request(pull)).data).toMatchObject({
      state: 'open',
      head: { sha: headSha, repo: { full_name: repo } },
      base: { sha: baseSha, ref: 'main' },
      user: { login: 'octocat' },
    })
    expect((await client.request(`GET ${thread}`)).data.pull_request).toBeDefined()
    client.time.pass(1000)
    client.github.push(repo, number, 'c'.repeat(40))
    client.github.edit(repo, number, { title: 'New', baseSha: 'd'.repeat(40), draft: true })
    client.github.close(repo, number, { merged: true })
    expect((await client.request(pull)).data).toMatchObject({
      title: 'New',
      draft: true,
      state: 'closed',
      merged: true,
      head: { sha: 'c'.repeat(40) },
      base: { sha: 'd'.repeat(40) },
      updated_at: '2026-11-15T12:00:01Z',
    })
    client.github.reopen(repo, number)
    expect((await client.request(pull)).data).toMatchObject({ state: 'open', closed_at: null })
    client.github.addIssue(repo, { number: 7 })
    expect((await client.request(`GET /repos/${repo}/pulls/7`)).status).toBe(404)
    expect((await client.request(`GET /repos/${repo}/issues/7`)).status).toBe(200)
  })

  it('are listed by state, sort and page', async () => {
    for (const other of [6, 7, 8]) {
      client.time.pass(1000)
      client.github.addPull(repo, { number: other, headSha, baseSha })
    }
    client.time.pass(1000)
    client.github.push(repo, 6, 'c'.repeat(40))
    client.github.close(repo, 7)
    client.github.addIssue(repo)
    const listed = async (query: string) => {
      const { data } = await client.request(`GET /repos/${repo}/pulls${query}`)
      return (data as { number: number }[]).map((pull) => pull.number)
    }
    expect(await listed('')).toEqual([8, 6, 5])
    expect(await listed('?state=closed')).toEqual([7])
    expect(await listed('?state=all&direction=asc')).toEqual([5, 6, 7, 8])
    expect(await listed('?sort=updated&direction=desc')).toEqual([6, 8, 5])
    expect(await listed('?per_page=2&page=2')).toEqual([5])
  })
})
