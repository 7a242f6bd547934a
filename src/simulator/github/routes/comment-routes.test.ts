// Goal: comments behave as on GitHub where a bot can fail: paging, since, lengths, locks, edits by
// other people.
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createComment,
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

const list = `GET ${thread}/comments`
const post = (body: unknown) => client.request(`POST ${thread}/comments`, { body: { body } })
const byId = (id: unknown) => `/repos/${repo}/issues/comments/${String(id)}`
const bodies = (data: unknown) => (data as { body: string }[]).map(({ body }) => body)

describe('a comment', () => {
  it('is created, edited and deleted, and keeps every version of its text', async () => {
    const { status, data, headers } = await post('one')
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(data.url)
    expect(data).toMatchObject({
      body: 'one',
      user: { login: 'holdfast-bot', type: 'User' },
      created_at: '2026-11-15T12:00:00Z',
      updated_at: '2026-11-15T12:00:00Z',
      performed_via_github_app: null,
    })
    client.time.pass(61_000)
    const edited = await client.request(`PATCH ${byId(data.id)}`, { body: { body: 'two' } })
    expect(edited.data).toMatchObject({
      id: data.id,
      body: 'two',
      created_at: '2026-11-15T12:00:00Z',
      updated_at: '2026-11-15T12:01:01Z',
    })
    client.github.editCommentAs('octocat', Number(data.id), 'three')
    expect((await client.request(`DELETE ${byId(data.id)}`)).status).toBe(204)
    expect(client.github.comments(repo, number)).toEqual([])
    const [gone] = client.github.allComments(repo, number)
    expect(gone).toMatchObject({ deletedBy: 'holdfast-bot', author: 'holdfast-bot' })
    expect(gone!.versions.map(({ by, body, request }) => [by, body, request])).toEqual([
      ['holdfast-bot', 'one', 0],
      ['holdfast-bot', 'two', 1],
      ['octocat', 'three', null],
    ])
  })

  it.each(['GET', 'PATCH', 'DELETE'])('that was deleted is a 404 for %s', async (method) => {
    const { id } = client.github.commentAs('octocat', repo, number, 'x')
    client.github.deleteCommentAs('octocat', id)
    const { status, data } = await client.request(`${method} ${byId(id)}`, {
      ...(method === 'PATCH' && { body: { body: 'y' } }),
    })
    expect(status).toBe(404)
    expect(data).toMatchObject({ message: 'Not Found', status: '404' })
    expect(data.documentation_url).toContain('https://docs.github.com/rest/issues/comments#')
  })

  it('of somebody else can be edited with write access, but not by a reader', async () => {
    const { id } = client.github.commentAs('octocat', repo, number, 'mine')
    client.github.setRole(repo, 'holdfast-bot', 'read')
    const edit = () => client.request(`PATCH ${byId(id)}`, { body: { body: 'yours' } })
    expect((await edit()).status).toBe(403)
    client.github.setRole(repo, 'holdfast-bot', 'write')
    expect((await edit()).status).toBe(200)
    expect(client.github.comments(repo, number)[0]).toMatchObject({
      author: 'octocat',
      body: 'yours',
    })
  })

  it('has at most 65,536 characters, new or edited', async () => {
    const { data } = await post('x'.repeat(65_536))
    const refused = [
      await post('x'.repeat(65_537)),
      await client.request(`PATCH ${byId(data.id)}`, { body: { body: 'y'.repeat(65_537) } }),
    ]
    for (const answer of refused) {
      expect(answer.status).toBe(422)
      expect(answer.data).toMatchObject({
        message: 'Validation Failed',
        errors: [{ message: 'Body is too long (maximum is 65536 characters)' }],
      })
    }
    expect(client.github.comments(repo, number)[0]!.versions).toHaveLength(1)
    expect(client.github.requests.map(({ effect }) => effect)).toEqual([true, false, false])
  })

  it.each([
    [' ', 'blank'],
    [undefined, `"body" wasn't supplied`],
    [5, 'is not a string'],
  ])('with the body %j is refused', async (body, why) => {
    const { status, data } = await post(body)
    expect(status).toBe(422)
    expect(JSON.stringify(data).replaceAll('\\"', '"')).toContain(why)
  })

  it('is refused on a locked thread until it is unlocked', async () => {
    client.github.lock(repo, number)
    expect(await post('x')).toMatchObject({
      status: 403,
      data: { message: expect.stringMatching(/locked/) },
    })
    client.github.unlock(repo, number)
    expect((await post('x')).status).toBe(201)
  })

  it('is the last one of a thread when it is number 2,500', async () => {
    for (let i = 0; i < 2499; i++) client.github.commentAs('octocat', repo, number, 'x')
    const { data } = await post('last')
    const refused = await post('too many')
    expect(refused).toMatchObject({
      status: 403,
      data: { message: expect.stringMatching(/2500 comments/) },
    })
    await client.request(`DELETE ${byId(data.id)}`)
    expect((await post('room again')).status).toBe(201)
  })

  it('without a thread, or with invalid JSON, is not created', async () => {
    expect((await client.request(`POST /repos/${repo}/issues/6/comments`)).status).toBe(404)
    const response = await client.github.fetch(`https://api.github.com${thread}/comments`, {
      method: 'POST',
      body: '{"body":',
      headers: { authorization: 'token ghp_any' },
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ message: 'Problems parsing JSON' })
    expect(client.github.count(createComment)).toBe(2)
  })
})

describe('a list of comments', () => {
  it('is sorted by id, 30 per page, at most 100, with links to other pages', async () => {
    for (let i = 1; i <= 205; i++) client.github.commentAs('octocat', repo, number, String(i))
    const first = await client.request(list)
    expect(bodies(first.data)).toEqual(Array.from({ length: 30 }, (_, i) => String(i + 1)))
    const wide = await client.request(`${list}?per_page=1000&sort=created&direction=desc`)
    expect(bodies(wide.data)).toEqual(Array.from({ length: 100 }, (_, i) => String(i + 1)))
    const links = wide.headers.get('link')!
    expect(links).toMatch(/[?&]page=2>; rel="next"/)
    expect(links).toMatch(/[?&]page=3>; rel="last"/)
    const next = /<https:\/\/api\.github\.com([^>]+)>; rel="next"/.exec(links)![1]!
    expect(bodies((await client.request(`GET ${next}`)).data)[0]).toBe('101')
    const end = await client.request(`${list}?per_page=100&page=3`)
    expect(bodies(end.data)).toEqual(['201', '202', '203', '204', '205'])
    expect(end.headers.get('link')).not.toContain('rel="next"')
    expect(end.headers.get('link')).toMatch(/[?&]page=2>; rel="prev"/)
    expect((await client.request(`${list}?page=99`)).data).toEqual([])
  })

  it('has no link when there is only one page', async () => {
    await post('x')
    expect((await client.request(list)).headers.get('link')).toBeNull()
  })

  it('with since has what was created or edited in that second or later', async () => {
    const old = client.github.commentAs('octocat', repo, number, 'old')
    client.github.commentAs('octocat', repo, number, 'older still')
    client.time.pass(60_500)
    await post('new')
    const since = async (time: string) =>
      bodies((await client.request(`${list}?since=${time}`)).data)
    expect(await since('2026-11-15T12:01:00Z')).toEqual(['new'])
    expect(await since('2026-11-15T12:01:01Z')).toEqual([])
    client.github.editCommentAs('octocat', old.id, 'edited')
    expect(await since('2026-11-15T12:01:00Z')).toEqual(['edited', 'new'])
  })

  it('leaves out what was deleted', async () => {
    const { id } = client.github.commentAs('octocat', repo, number, 'x')
    await post('y')
    client.github.deleteCommentAs('octocat', id)
    expect(bodies((await client.request(list)).data)).toEqual(['y'])
  })
})
