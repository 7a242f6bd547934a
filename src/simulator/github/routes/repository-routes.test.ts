// Goal: names, ids and permissions of a repository lead where GitHub's do.
import { beforeEach, describe, expect, it } from 'vitest'
import {
  baseSha,
  headSha,
  number,
  repo,
  startAsking,
  thread,
  type Asking,
} from '../../../../test/simulator/asking.ts'

let asking: Asking
beforeEach(async () => {
  asking = await startAsking()
})

describe('a renamed repository', () => {
  beforeEach(() => asking.github.rename(repo, 'acme/gadgets'))

  it('is moved, by its id, with all of the path and the query', async () => {
    const { id } = asking.github.repository('acme/gadgets')
    const { status, headers, data } = await asking.ask(`GET ${thread}/comments?per_page=5`)
    const url = `https://api.github.com/repositories/${id}/issues/${number}/comments?per_page=5`
    expect(status).toBe(301)
    expect(headers.get('location')).toBe(url)
    expect(data).toMatchObject({ message: 'Moved Permanently', url })
    expect(data.documentation_url).toContain('https://docs.github.com/rest')
  })

  it('refuses a write under the old name, and takes it under the new one or the id', async () => {
    const { id } = asking.github.repository(repo)
    const body = { body: { body: 'x' } }
    expect((await asking.ask(`POST ${thread}/comments`, body)).status).toBe(301)
    expect(asking.github.comments(repo, number)).toEqual([])
    const path = `/issues/${number}/comments`
    expect((await asking.ask(`POST /repos/acme/gadgets${path}`, body)).status).toBe(201)
    expect((await asking.ask(`POST /repositories/${id}${path}`, body)).status).toBe(201)
    expect(asking.github.count('POST /repos/{owner}/{repo}/issues/{n}/comments')).toBe(3)
    expect((await asking.ask(`GET /repositories/${id}`)).data.full_name).toBe('acme/gadgets')
    expect((await asking.ask('GET /repositories/1/issues/1')).status).toBe(404)
  })

  it('gives its old name away', async () => {
    const { id } = asking.github.addRepository(repo)
    expect((await asking.ask(`GET /repos/${repo}`)).data.id).toBe(id)
    expect((await asking.ask(`GET ${thread}`)).status).toBe(404)
  })

  it('is followed by fetch as by any: a POST arrives as a GET', async () => {
    const response = await asking.github.fetch(`https://api.github.com${thread}/comments`, {
      method: 'POST',
      headers: { authorization: 'token x' },
      body: JSON.stringify({ body: 'x' }),
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual([])
    expect(asking.github.requests.map(({ method }) => method)).toEqual(['POST', 'GET'])
  })
})

describe('a repository', () => {
  it('has one name in any case', async () => {
    expect((await asking.ask('GET /repos/ACME/Widgets')).data.full_name).toBe(repo)
    expect(() => asking.github.addRepository('Acme/Widgets')).toThrow('already')
  })

  it('that we lost is a 404 all over, until it is allowed again', async () => {
    const { id } = asking.github.repository(repo)
    const calls = [`GET /repos/${repo}`, `GET /repositories/${id}`, `GET ${thread}/comments`]
    const statuses = () => Promise.all(calls.map(async (call) => (await asking.ask(call)).status))
    asking.github.restrict(repo)
    expect(await statuses()).toEqual([404, 404, 404])
    asking.github.allow(repo)
    expect(await statuses()).toEqual([200, 200, 200])
  })

  it('that is private is there for those who have a role', async () => {
    asking.github.addRepository('acme/secret', { private: true })
    const statusAs = async (token: string | null) =>
      (await asking.ask('GET /repos/acme/secret', { token })).status
    asking.github.setRole('acme/secret', 'stranger', 'none')
    asking.github.addToken('stranger', 'ghp_stranger')
    expect(await statusAs('ghp_any')).toBe(200)
    expect(await statusAs('ghp_stranger')).toBe(404)
    expect(await statusAs(null)).toBe(404)
    asking.github.setRole('acme/secret', 'stranger', 'read')
    expect(await statusAs('ghp_stranger')).toBe(200)
  })

  it('is open to read without a token, and not to write', async () => {
    expect((await asking.ask(`GET ${thread}`, { token: null })).status).toBe(200)
    const write = { token: null, body: { body: 'x' } }
    expect(await asking.ask(`POST ${thread}/comments`, write)).toMatchObject({
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
  ] as const)('tells of the role %s, which is %s in the old words', async (role, permission) => {
    asking.github.setRole(repo, 'Octocat', role)
    const call = `GET /repos/${repo}/collaborators/octocat/permission`
    expect((await asking.ask(call)).data).toMatchObject({ permission, role_name: role })
  })

  it('knows nobody who is not there', async () => {
    const call = `GET /repos/${repo}/collaborators/nobody/permission`
    expect((await asking.ask(call)).status).toBe(404)
    expect((await asking.ask('GET /users/nobody')).status).toBe(404)
    expect((await asking.ask('GET /users/OctoCat')).data.login).toBe('octocat')
    expect((await asking.ask('GET /user')).data.login).toBe('holdfast-bot')
  })
})

describe('pull requests', () => {
  it('are issues too, and follow pushes, closing and edits', async () => {
    const pull = `GET /repos/${repo}/pulls/${number}`
    expect((await asking.ask(pull)).data).toMatchObject({
      state: 'open',
      head: { sha: headSha, repo: { full_name: repo } },
      base: { sha: baseSha, ref: 'main' },
      user: { login: 'octocat' },
    })
    expect((await asking.ask(`GET ${thread}`)).data.pull_request).toBeDefined()
    asking.time.pass(1000)
    asking.github.push(repo, number, 'c'.repeat(40))
    asking.github.edit(repo, number, { title: 'New', baseSha: 'd'.repeat(40), draft: true })
    asking.github.close(repo, number, { merged: true })
    expect((await asking.ask(pull)).data).toMatchObject({
      title: 'New',
      draft: true,
      state: 'closed',
      merged: true,
      head: { sha: 'c'.repeat(40) },
      base: { sha: 'd'.repeat(40) },
      updated_at: '2026-11-15T12:00:01Z',
    })
    asking.github.reopen(repo, number)
    expect((await asking.ask(pull)).data).toMatchObject({ state: 'open', closed_at: null })
    asking.github.addIssue(repo, { number: 7 })
    expect((await asking.ask(`GET /repos/${repo}/pulls/7`)).status).toBe(404)
    expect((await asking.ask(`GET /repos/${repo}/issues/7`)).status).toBe(200)
  })

  it('are listed by state, sort and page', async () => {
    for (const other of [6, 7, 8]) {
      asking.time.pass(1000)
      asking.github.addPull(repo, { number: other, headSha, baseSha })
    }
    asking.time.pass(1000)
    asking.github.push(repo, 6, 'c'.repeat(40))
    asking.github.close(repo, 7)
    asking.github.addIssue(repo)
    const listed = async (query: string) => {
      const { data } = await asking.ask(`GET /repos/${repo}/pulls${query}`)
      return (data as { number: number }[]).map((pull) => pull.number)
    }
    expect(await listed('')).toEqual([8, 6, 5])
    expect(await listed('?state=closed')).toEqual([7])
    expect(await listed('?state=all&direction=asc')).toEqual([5, 6, 7, 8])
    expect(await listed('?sort=updated&direction=desc')).toEqual([6, 8, 5])
    expect(await listed('?per_page=2&page=2')).toEqual([5])
  })
})
