// Goal: labels are a set and reviews are not, as on GitHub.
import { beforeEach, describe, expect, it } from 'vitest'
import {
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

const names = (data: unknown) => (data as { name: string }[]).map(({ name }) => name)

describe('labels', () => {
  const add = (body: unknown) => client.request(`POST ${thread}/labels`, { body })
  const remove = (name: string) => client.request(`DELETE ${thread}/labels/${name}`)

  it('are added once, whatever their case, and created when unknown', async () => {
    client.github.labelAs('octocat', repo, number, 'Bug')
    expect(names((await add({ labels: ['bug', 'in review'] })).data)).toEqual(['Bug', 'in review'])
    const again = await add(['in review'])
    expect(names(again.data)).toEqual(['Bug', 'in review'])
    expect(client.github.requests.map(({ effect }) => effect)).toEqual([true, false])
    expect(names((await client.request(`GET ${thread}/labels`)).data)).toEqual(['Bug', 'in review'])
    expect(names((await client.request(`GET ${thread}`)).data.labels)).toEqual(['Bug', 'in review'])
  })

  it('are removed once; the second time is a 404', async () => {
    await add(['in review', 'bug'])
    const removed = await remove('in%20review')
    expect(removed.status).toBe(200)
    expect(names(removed.data)).toEqual(['bug'])
    expect(await remove('in%20review')).toMatchObject({
      status: 404,
      data: { message: 'Label does not exist' },
    })
    expect(client.github.labels(repo, number)).toEqual(['bug'])
  })

  it('cannot be numbers', async () => {
    expect((await add({ labels: [5] })).status).toBe(422)
    expect((await add({ labels: 'bug' })).status).toBe(422)
  })
})

describe('a review', () => {
  const reviews = `/repos/${repo}/pulls/${number}/reviews`
  const make = (body: object) => client.request(`POST ${reviews}`, { body })

  it('comes with its inline comments in one call', async () => {
    const { status, data } = await make({
      event: 'REQUEST_CHANGES',
      body: 'Not yet',
      comments: [
        { path: 'a.ts', line: 3, body: 'here' },
        { path: 'b.ts', position: 1, body: 'there' },
      ],
    })
    expect(status).toBe(200)
    expect(data).toMatchObject({
      state: 'CHANGES_REQUESTED',
      body: 'Not yet',
      commit_id: headSha,
      submitted_at: '2026-11-15T12:00:00Z',
    })
    const inline = await client.request(`GET ${reviews}/${data.id}/comments`)
    expect(inline.data).toMatchObject([
      { path: 'a.ts', body: 'here', line: 3, pull_request_review_id: data.id },
      { path: 'b.ts', body: 'there', position: 1 },
    ])
    expect((await client.request(`GET ${reviews}/${data.id}`)).data).toEqual(data)
    const put = await client.request(`PUT ${reviews}/${data.id}`, { body: { body: 'Better' } })
    expect(put.data).toMatchObject({ id: data.id, body: 'Better' })
    expect((await client.request(`GET ${reviews}`)).data).toEqual([put.data])
    expect(client.github.reviews(repo, number)).toMatchObject([
      { body: 'Better', author: 'holdfast-bot', comments: [{ path: 'a.ts' }, { path: 'b.ts' }] },
    ])
  })

  it('is created again by each POST', async () => {
    await make({ event: 'COMMENT', body: 'x' })
    await make({ event: 'COMMENT', body: 'x' })
    expect(client.github.reviews(repo, number)).toHaveLength(2)
  })

  it('without an event is pending, and only one can be', async () => {
    const { data } = await make({ body: 'draft' })
    expect(data).toMatchObject({ state: 'PENDING' })
    expect(data).not.toHaveProperty('submitted_at')
    expect((await make({ body: 'draft' })).status).toBe(422)
  })

  it.each([
    { event: 'COMMENT' },
    { event: 'DISMISS', body: 'x' },
    { event: 'COMMENT', body: 'x', comments: [{ path: 'a', body: 'b' }] },
    { event: 'COMMENT', body: 'x'.repeat(65_537) },
  ])('cannot be %j', async (body) => {
    expect((await make(body)).status).toBe(422)
    expect(client.github.reviews(repo, number)).toEqual([])
  })

  it('cannot approve one’s own pull request', async () => {
    client.github.addPull(repo, { number: 6, headSha, baseSha: headSha, author: 'holdfast-bot' })
    const body = { event: 'APPROVE' }
    expect((await client.request(`POST /repos/${repo}/pulls/6/reviews`, { body })).status).toBe(422)
    expect((await make(body)).data.state).toBe('APPROVED')
  })

  it('points at the new head after a forced push', async () => {
    await make({ event: 'APPROVE' })
    client.github.push(repo, number, 'c'.repeat(40))
    expect(client.github.reviews(repo, number)[0]!.commitId).toBe(headSha)
    client.github.push(repo, number, 'd'.repeat(40), { force: true })
    expect(client.github.reviews(repo, number)[0]!.commitId).toBe('d'.repeat(40))
  })
})
