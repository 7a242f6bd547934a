/**
 * Goal: only the present holder of a run gets a token, it can do only what the type allows, and
 * nothing but the answer contains it.
 * Method: a real store, the real client, and a simulated GitHub, with one clock.
 */
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdOf, reading, repo, TokenWorld, type Hold } from '../../test/github/token-world.ts'
import { leaseRequest, sha } from '../../test/conformance/claims.ts'
import type { NarrowedToken } from '../github.ts'

const hour = 3_600_000
const minute = 60_000

let world: TokenWorld
beforeEach(async () => {
  world = new TokenWorld()
  await world.learnRepository()
})
afterEach(() => world.store.close())

const issue = (hold: Hold) => world.tokens.issue(hold)

/** The status with which GitHub answers a holder of this token. */
async function statusOf({ token }: NarrowedToken, call: string, body?: object): Promise<number> {
  const [method = '', path = ''] = call.split(' ')
  const answer = await world.simulator.fetch(`https://api.github.com${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return answer.status
}

describe('the holder of a run', () => {
  it('gets a token for its repository and permissions, and no others', async () => {
    world.simulator.addRepository('acme/other', { private: true })
    for (const name of [repo, 'acme/other']) {
      world.simulator.addPull(name, { number: 5, headSha: sha('a'), baseSha: sha('main') })
    }
    const made = await issue(await world.hold())
    expect(made).toEqual({
      token: expect.stringMatching(/^ghs_/) as string,
      expiresAt: world.clock.wall + hour,
      permissions: { ...reading, metadata: 'read' },
      repository: { githubId: world.githubId, name: repo },
    })
    expect(await statusOf(made, `GET /repos/${repo}/pulls/5`)).toBe(200)
    expect(await statusOf(made, `POST /repos/${repo}/issues/5/comments`, { body: 'x' })).toBe(403)
    expect(await statusOf(made, 'GET /repos/acme/other/pulls/5')).toBe(404)
  })

  it('is named in the audit, with everything but the token', async () => {
    const hold = await world.hold()
    const { token } = await issue(hold)
    const notes = await world.notes()
    expect(notes).toMatchObject([
      {
        actor: 'holder',
        runId: hold.runId,
        data: {
          repo,
          repo_id: world.githubId,
          permissions: { ...reading, metadata: 'read' },
          expires_at: '2026-11-15T13:00:00.000Z',
        },
      },
    ])
    const { items } = await world.store.audit.list({}, { limit: 100, cursor: null })
    const everything = inspect([items, world.lines], { depth: 9, maxStringLength: null })
    expect(everything).toContain('/access_tokens')
    expect(everything).not.toContain(token.slice(0, 40))
  })

  it('gets the same token again while it has more than ten minutes left', async () => {
    const hold = await world.hold()
    const first = await issue(hold)
    expect(await issue(hold)).toEqual(first)
    world.clock.pass(50 * minute - 1)
    expect((await issue(hold)).token).toBe(first.token)
    expect([world.minted, (await world.notes()).length]).toEqual([1, 1])
    world.clock.pass(1)
    expect((await issue(hold)).token).not.toBe(first.token)
    expect([world.minted, (await world.notes()).length]).toEqual([2, 2])
  })

  it('that asks several times at once is one question to GitHub', async () => {
    const hold = await world.hold()
    const made = await Promise.all([issue(hold), issue(hold), issue(hold)])
    expect(new Set(made.map(({ token }) => token)).size).toBe(1)
    expect(world.minted).toBe(1)
  })

  it('never gets the token of another holder, not even of the same run', async () => {
    const claimed = await world.claim('a', { lease: null })
    const tokens: string[] = []
    for (let time = 0; time < 2; time++) {
      const leased = await world.store.runs.lease(leaseRequest({ runId: claimed.run!.id }), null)
      const hold = holdOf({ ...claimed, ...leased! })
      tokens.push((await issue(hold)).token)
      await world.store.runs.release({ ...hold, leaseMs: null }, null)
      await expect(issue(hold)).rejects.toMatchObject({ code: 'lease_lost' })
    }
    tokens.push((await issue(await world.hold('b'))).token)
    expect(new Set(tokens).size).toBe(3)
  })
})

describe('somebody who does not hold the run', () => {
  it('gets nothing, and GitHub is not asked', async () => {
    const hold = await world.hold()
    await expect(issue({ ...hold, leaseHash: 'another' })).rejects.toMatchObject({
      code: 'lease_lost',
    })
    await expect(issue({ ...hold, runId: 'run_none' })).rejects.toMatchObject({
      code: 'run_not_found',
    })
    await world.hold('b')
    await expect(issue(hold)).rejects.toMatchObject({ code: 'superseded' })
    expect(world.simulator.requests).toEqual([])
  })

  it('because it was lost after its token was made, gets nothing either', async () => {
    const hold = await world.hold()
    const tokens = world.tokensWith({
      narrowedToken: async (...asked) => {
        const made = await world.github.narrowedToken!(...asked)
        await world.hold('b')
        return made
      },
    })
    await expect(tokens.issue(hold)).rejects.toMatchObject({ code: 'superseded' })
    expect(world.minted).toBe(1)
    expect(await world.notes()).toEqual([])
  })

  it('gets no longer what it got while it held the run', async () => {
    const hold = await world.hold()
    await issue(hold)
    await world.store.runs.cancel(hold.runId, 'operator', null)
    await expect(issue(hold)).rejects.toMatchObject({ code: 'cancelled' })
  })
})

describe('the repository', () => {
  it('that is known by name alone is looked up once, and its id is kept', async () => {
    world = new TokenWorld()
    const hold = await world.hold()
    const { repository } = await issue(hold)
    expect(repository.githubId).toBe(world.githubId)
    expect((await world.store.repositories.getByName(repo))?.githubId).toBe(world.githubId)
    const lookUps = () => world.simulator.count('GET /repos/{owner}/{repo}')
    expect(lookUps()).toBe(1)
    await issue(await world.hold('b'))
    expect(lookUps()).toBe(1)
  })

  it('is the one with the known id, whoever has its name now', async () => {
    const { githubId } = world
    const hold = await world.hold('a', { repoId: githubId })
    world.simulator.rename(repo, 'acme/gadgets')
    world.simulator.addRepository(repo, { private: true })
    expect((await issue(hold)).repository).toEqual({ githubId, name: 'acme/gadgets' })
  })

  it('whose id only a caller gave is looked up, and a wrong id gets no token', async () => {
    world = new TokenWorld()
    await world.store.repositories.learnUnverified(repo, 77, null, 'caller')
    await expect(issue(await world.hold('a', { repoId: 77 }))).rejects.toMatchObject({
      code: 'github_token_unavailable',
      message: expect.stringContaining(`GitHub's id of ${repo} is ${world.githubId}`) as string,
    })
    const bodies = world.simulator.requests.map(({ body }) => JSON.stringify(body))
    expect(bodies.filter((body) => body.includes('repository_ids'))).toEqual([])
  })
})
