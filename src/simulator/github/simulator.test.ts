// Goal: the simulator uses the given clock and random numbers, and emits events.
import { describe, expect, it } from 'vitest'
import {
  createComment,
  headSha,
  number,
  repo,
  startSimulatorClient,
  thread,
} from '../../../test/simulator/simulator-client.ts'
import type { Random } from '../../random.ts'
import type { GitHubEvent } from './state/events.ts'

const comment = { body: { body: 'hello' } }

describe('time', () => {
  it('of GitHub, if ahead of ours, shows in every date and nowhere else', async () => {
    const aheadMs = 90_000
    const { request, github, time } = await startSimulatorClient({ aheadMs })
    const { headers, data } = await request(`POST ${thread}/comments`, comment)
    expect(headers.get('date')).toBe('Sun, 15 Nov 2026 12:01:30 GMT')
    expect(data).toMatchObject({
      created_at: '2026-11-15T12:01:30Z',
      updated_at: '2026-11-15T12:01:30Z',
    })
    const hour = 60 * 60 * 1000
    const reset = (time.clock.wallMs() + aheadMs + hour) / 1000
    expect(headers.get('x-ratelimit-reset')).toBe(String(reset))
    expect(github.requests[0]!.at).toBe(time.clock.wallMs())
    expect(github.comments(repo, number)[0]!.createdAt).toBe(time.clock.wallMs())
    const since = async (text: string) =>
      ((await request(`GET ${thread}/comments?since=${text}`)).data as []).length
    expect(await since('2026-11-15T12:01:30Z')).toBe(1)
    expect(await since('2026-11-15T12:01:31Z')).toBe(0)
  })
})

describe('limits', () => {
  it('count every request except GET /rate_limit', async () => {
    const { request } = await startSimulatorClient()
    await request(`GET ${thread}`)
    const { headers } = await request(`GET ${thread}`)
    expect(headers.get('x-ratelimit-limit')).toBe('5000')
    expect(headers.get('x-ratelimit-remaining')).toBe('4998')
    expect(headers.get('x-ratelimit-used')).toBe('2')
    expect((await request('GET /rate_limit')).data.resources.core).toMatchObject({
      remaining: 4998,
    })
  })

  it('of content are enforced where they are set, and end by themselves', async () => {
    const limits = { perMinute: 2, perHour: 3 }
    const { request, github, time } = await startSimulatorClient({ limits })
    const post = () => request(`POST ${thread}/comments`, comment)
    expect([(await post()).status, (await post()).status]).toEqual([201, 201])
    time.pass(15_000)
    const refused = await post()
    expect(refused.status).toBe(403)
    expect(refused.headers.get('retry-after')).toBe('45')
    expect((await request(`GET ${thread}`)).status).toBe(200)
    time.pass(45_000)
    expect((await post()).status).toBe(201)
    const hourly = await post()
    expect(hourly.headers.get('retry-after')).toBe('3540')
    time.pass(3_540_000)
    expect((await post()).status).toBe(201)
    expect(github.comments(repo, number)).toHaveLength(4)
  })

  it('can require a pause between writes', async () => {
    const { request, time } = await startSimulatorClient({ limits: { spacing: 1000 } })
    const post = async () => (await request(`POST ${thread}/comments`, comment)).status
    expect(await post()).toBe(201)
    time.pass(999)
    expect(await post()).toBe(403)
    time.pass(1)
    expect(await post()).toBe(201)
  })
})

describe('the list of received requests', () => {
  it('has them in order, with their effect', async () => {
    const { request, github } = await startSimulatorClient()
    await request(`POST ${thread}/comments`, comment)
    await request(`GET ${thread}/comments?per_page=7`)
    await request('GET /nowhere')
    expect(github.requests).toMatchObject([
      {
        index: 0,
        method: 'POST',
        path: `${thread}/comments`,
        route: createComment,
        body: { body: 'hello' },
        identity: 'holdfast-bot',
        status: 201,
        effect: true,
        fault: null,
      },
      { index: 1, query: { per_page: '7' }, body: null, status: 200, effect: false },
      { index: 2, route: null, status: 404 },
    ])
    expect(github.count(createComment)).toBe(1)
    expect(github.count(({ method }) => method === 'GET')).toBe(2)
  })

  it('has the same path for requests below /api/v3', async () => {
    const { github } = await startSimulatorClient()
    const call = `https://ghe.example/api/v3${thread}/comments?per_page=1`
    github.commentAs('octocat', repo, number, 'a')
    github.commentAs('octocat', repo, number, 'b')
    const response = await github.fetch(call)
    expect(response.headers.get('link')).toContain(`<https://ghe.example/api/v3${thread}/comments`)
  })
})

describe('random numbers', () => {
  const seeded = (seed: number): Random => {
    const next = () => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31)
    return {
      bytes: (count) => Buffer.from(Array.from({ length: count }, () => next() >> 16)),
      below: (below) => next() % below,
    }
  }

  async function story(seed: number): Promise<string> {
    const { request, github } = await startSimulatorClient({ random: seeded(seed) })
    const answers = [
      await request(`POST ${thread}/comments`, comment),
      await request(`GET ${thread}/comments`),
    ]
    const texts = answers.map(({ headers, data }) => [[...headers], data as unknown])
    return JSON.stringify([texts, github.requests])
  }

  it('come from the seed: the same seed gives the same answers', async () => {
    expect(await story(1)).toBe(await story(1))
    expect(await story(1)).not.toBe(await story(2))
  })
})

describe('an event', () => {
  it('is emitted with the payload of its webhook, for actions and requests', async () => {
    const { request, github } = await startSimulatorClient()
    const emitted: GitHubEvent[] = []
    const stop = github.observe((event) => emitted.push(event))
    const last = () => emitted.at(-1)!
    await request(`POST ${thread}/comments`, comment)
    expect(last()).toMatchObject({
      event: 'issue_comment',
      action: 'created',
      repo,
      sender: 'holdfast-bot',
      payload: {
        action: 'created',
        comment: { body: 'hello' },
        issue: { number },
        repository: { full_name: repo },
        sender: { login: 'holdfast-bot' },
      },
    })
    github.push(repo, number, 'c'.repeat(40), { by: 'pusher' })
    expect(last().payload).toMatchObject({
      action: 'synchronize',
      number,
      before: headSha,
      after: 'c'.repeat(40),
      pull_request: { head: { sha: 'c'.repeat(40) } },
      sender: { login: 'pusher' },
    })
    const { id } = github.commentAs('octocat', repo, number, 'one')
    github.editCommentAs('octocat', id, 'two')
    expect(last().payload).toMatchObject({ changes: { body: { from: 'one' } } })
    github.deleteCommentAs('octocat', id)
    github.labelAs('octocat', repo, number, 'bug')
    expect(last().payload).toMatchObject({ label: { name: 'bug' } })
    github.edit(repo, number, { title: 'New', baseSha: 'd'.repeat(40) })
    github.close(repo, number, { merged: true })
    github.reopen(repo, number)
    github.addIssue(repo, { title: 'An issue' })
    await request(`POST /repos/${repo}/statuses/${headSha}`, { body: { state: 'success' } })
    expect(emitted.map(({ event, action }) => [event, action].join('.'))).toEqual([
      'issue_comment.created',
      'push.',
      'pull_request.synchronize',
      'issue_comment.created',
      'issue_comment.edited',
      'issue_comment.deleted',
      'pull_request.labeled',
      'pull_request.edited',
      'pull_request.closed',
      'pull_request.reopened',
      'issues.opened',
      'status.',
    ])
    stop()
    github.commentAs('octocat', repo, number, 'unheard')
    expect(last().event).toBe('status')
  })

  it('is not emitted for a refused request', async () => {
    const { request, github } = await startSimulatorClient()
    const emitted: GitHubEvent[] = []
    github.observe((event) => emitted.push(event))
    github.faults.add({ fault: github.faults.serverError() })
    await request(`POST ${thread}/comments`, comment)
    await request(`POST ${thread}/comments`, { body: { body: '' } })
    expect(emitted).toEqual([])
  })
})

describe('fetch inside the process', () => {
  it('sends nothing when it was aborted before', async () => {
    const { fetch, github } = await startSimulatorClient()
    const reason = new Error('too late')
    await expect(fetch('GET /user', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(github.requests).toEqual([])
  })

  it('accepts a Request, and bytes as a body', async () => {
    const { github } = await startSimulatorClient()
    const url = `https://api.github.com${thread}/comments`
    const headers = { authorization: 'Bearer x' }
    const body = JSON.stringify({ body: 'ü' })
    const first = await github.fetch(new Request(url, { method: 'POST', headers, body }))
    const bytes = new TextEncoder().encode(body)
    const second = await github.fetch(new URL(url), { method: 'post', headers, body: bytes })
    expect([first.status, second.status]).toEqual([201, 201])
    expect(github.comments(repo, number).map((each) => each.body)).toEqual(['ü', 'ü'])
  })

  it('uses only timers of the scheduler, and leaves none', async () => {
    const { fetch, github, time } = await startSimulatorClient()
    const { faults } = github
    faults.add({ fault: faults.slowBody({ parts: 3, pauseMs: 10 }) })
    const abort = new AbortController()
    const response = await fetch('GET /user', { signal: abort.signal })
    expect(time.waiting).toBe(1)
    const read = response.text()
    abort.abort()
    await expect(read).rejects.toThrow('abort')
    expect(time.waiting).toBe(0)
  })
})
