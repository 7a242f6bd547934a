// Goal: statuses and check runs have GitHub's limits, and the newest counts.
import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  headSha,
  repo,
  startSimulatorClient,
  type SimulatorClient,
} from '../../../../test/simulator/simulator-client.ts'
import { installationToken } from '../../../../test/simulator/app-token.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string

let client: SimulatorClient
beforeEach(async () => {
  client = await startSimulatorClient({
    app: { id: 12, slug: 'holdfast', privateKey: pem },
    acceptAnyToken: true,
  })
})

const commit = `/repos/${repo}/commits/${headSha}`

describe('a commit status', () => {
  const post = (body: object, sha = headSha) =>
    client.request(`POST /repos/${repo}/statuses/${sha}`, { body })
  const statesOf = (data: unknown) => (data as { state: string }[]).map(({ state }) => state)
  const latest = (context: string) => client.github.latestStatus(repo, headSha, context)

  it('counts until a newer one of its context, which ignores case', async () => {
    await post({ state: 'pending', context: 'review', description: 'at work' })
    await post({ state: 'success', context: 'Review', target_url: 'https://example.com/1' })
    await post({ state: 'failure' })
    expect(latest('REVIEW')).toMatchObject({ state: 'success', targetUrl: 'https://example.com/1' })
    expect(latest('default')).toMatchObject({ state: 'failure', creator: 'holdfast-bot' })
    expect(latest('other')).toBeNull()
    expect(client.github.statuses(repo, headSha).map(({ state }) => state)).toEqual([
      'pending',
      'success',
      'failure',
    ])
    const listed = await client.request(`GET ${commit}/statuses?per_page=2`)
    expect(statesOf(listed.data)).toEqual(['failure', 'success'])
    expect(listed.headers.get('link')).toContain('rel="next"')
    const combined = (await client.request(`GET ${commit}/status`)).data
    expect(combined).toMatchObject({ state: 'failure', total_count: 2, sha: headSha })
    expect(statesOf(combined.statuses)).toEqual(['success', 'failure'])
  })

  it('has at most 140 characters of description', async () => {
    expect((await post({ state: 'pending', description: 'x'.repeat(140) })).status).toBe(201)
    const { status, data } = await post({ state: 'pending', description: 'x'.repeat(141) })
    expect(status).toBe(422)
    expect(data.errors[0].message).toBe('description is too long (maximum is 140 characters)')
  })

  it('is refused after a thousand of its commit and context', async () => {
    for (let i = 0; i < 1000; i++) await post({ state: 'pending', context: 'a' })
    expect(await post({ state: 'success', context: 'A' })).toMatchObject({
      status: 422,
      data: { errors: [{ message: expect.stringMatching(/maximum number of statuses/) }] },
    })
    expect((await post({ state: 'success', context: 'b' })).status).toBe(201)
    expect(latest('a')).toMatchObject({ state: 'pending' })
  })

  it('needs one of the four states, and a valid address', async () => {
    expect(await post({})).toMatchObject({
      status: 422,
      data: { message: expect.stringMatching(/"state" wasn't/) },
    })
    expect((await post({ state: 'skipped' })).status).toBe(422)
    expect((await post({ state: 'error', target_url: 'javascript:1' })).status).toBe(422)
    expect(client.github.statuses(repo, headSha)).toEqual([])
  })

  it('needs a visible commit', async () => {
    const late = 'c'.repeat(40)
    client.github.addCommit(repo, late, { visibleAt: client.time.clock.wallMs() + 30_000 })
    expect(await post({ state: 'pending' }, late)).toMatchObject({
      status: 422,
      data: { message: `No commit found for SHA: ${late}` },
    })
    client.time.pass(30_000)
    expect((await post({ state: 'pending' }, late)).status).toBe(201)
    const strict = await startSimulatorClient({ anyCommit: false })
    const call = (sha: string) =>
      strict.request(`POST /repos/${repo}/statuses/${sha}`, { body: { state: 'pending' } })
    expect((await call('d'.repeat(40))).status).toBe(422)
    expect((await call(headSha)).status).toBe(201)
    strict.github.push(repo, 5, 'e'.repeat(40))
    expect((await call('e'.repeat(40))).status).toBe(201)
  })

  it('cannot be set with read access', async () => {
    client.github.setRole(repo, 'holdfast-bot', 'read')
    expect((await post({ state: 'pending' })).status).toBe(404)
  })
})

describe('a check run', () => {
  let token: string
  beforeEach(async () => {
    token = await installationToken(client, 12, privateKey)
  })

  const make = (body: object) =>
    client.request(`POST /repos/${repo}/check-runs`, {
      token,
      body: { head_sha: headSha, ...body },
    })
  const change = (id: unknown, body: object) =>
    client.request(`PATCH /repos/${repo}/check-runs/${String(id)}`, { token, body })

  it('can only be written by Apps', async () => {
    const { status, data } = await client.request(`POST /repos/${repo}/check-runs`, {
      body: { name: 'review', head_sha: headSha },
    })
    expect(status).toBe(403)
    expect(data.message).toBe('You must authenticate via a GitHub App.')
  })

  it('goes from queued to completed and stays there', async () => {
    const { status, data } = await make({ name: 'review', external_id: 'run_1' })
    expect(status).toBe(201)
    expect(data).toMatchObject({
      status: 'queued',
      conclusion: null,
      started_at: null,
      external_id: 'run_1',
      app: { id: 12, slug: 'holdfast' },
      pull_requests: [{ number: 5 }],
    })
    expect((await change(data.id, { status: 'in_progress' })).data.status).toBe('in_progress')
    client.time.pass(5000)
    const output = { title: 'Fine', summary: 'All good' }
    const done = await change(data.id, { conclusion: 'success', output })
    expect(done.data).toMatchObject({
      status: 'completed',
      conclusion: 'success',
      completed_at: '2026-11-15T12:00:05Z',
      output: { ...output, text: null },
    })
    const again = await change(data.id, { status: 'in_progress', output: { summary: 'Again' } })
    expect(again).toMatchObject({
      status: 200,
      data: { status: 'completed', conclusion: 'success', output: { summary: 'Again' } },
    })
    expect(client.github.checkRuns(repo, headSha)).toHaveLength(1)
  })

  it('is listed newest first; only the latest of each name, unless all are requested', async () => {
    await make({ name: 'a', external_id: '1' })
    await make({ name: 'b', external_id: '2' })
    await make({ name: 'a', external_id: '3' })
    const listed = async (query: string) => {
      const { data } = await client.request(`GET ${commit}/check-runs${query}`, { token })
      const runs = data.check_runs as { external_id: string }[]
      const ids = runs.map((run) => run.external_id)
      expect(data.total_count).toBe(ids.length)
      return ids
    }
    expect(await listed('')).toEqual(['3', '2'])
    expect(await listed('?check_name=a')).toEqual(['3'])
    expect(await listed('?check_name=a&filter=all')).toEqual(['3', '1'])
    expect(await listed('?app_id=13')).toEqual([])
  })

  it('collects annotations, at most 50 per call', async () => {
    const { data } = await make({ name: 'a' })
    const annotations = Array.from({ length: 50 }, () => ({ path: 'a', message: 'm' }))
    const output = { title: 't', summary: 's', annotations }
    await change(data.id, { output })
    await change(data.id, { output })
    const tooMany = { ...output, annotations: [...annotations, annotations[0]] }
    expect((await change(data.id, { output: tooMany })).status).toBe(422)
    expect(client.github.checkRuns(repo, headSha)[0]!.annotations).toBe(100)
  })

  it('has at most 65,535 characters of summary, and a conclusion when completed', async () => {
    const summary = (length: number) => make({ name: 'a', output: { summary: 'x'.repeat(length) } })
    expect((await summary(65_535)).status).toBe(201)
    expect((await summary(65_536)).status).toBe(422)
    expect((await make({ name: 'a', status: 'completed' })).status).toBe(422)
    expect((await make({ name: 'a', conclusion: 'splendid' })).status).toBe(422)
    expect((await make({})).status).toBe(422)
  })
})
