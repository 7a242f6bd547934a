/**
 * Goal: a token reaches only what it was made for, and what was obtained with it ends with it: at
 * once when it is revoked, to the millisecond when it expires, and in no other case.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TokenLimits } from '../../../src/domain/token-limits.ts'
import { reachesRepository } from '../../../src/domain/token-limits.ts'
import type { ClaimAnswer, LeaseAnswer } from '../../../src/store.ts'
import type { NewToken, Token } from '../../../src/store/token-store.ts'
import { completion, grant, holderOf, leaseMs, leaseRequest, unique } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { hour, minute, openWorld, second, type OpenStore, type World } from '../world.ts'

const page = { limit: 100, cursor: null }

export function tokens(open: OpenStore): void {
  let world: World
  beforeEach(async () => {
    world = await openWorld(open)
  })
  afterEach(() => world.close())

  const make = async (over: Partial<NewToken> = {}): Promise<Token> => {
    const token = { scope: 'worker', name: null, userId: null, secret: 's', actor: 'admin' }
    return (await world.store.tokens.create({ ...token, ...over }, null)).token
  }
  const leaseWith = async (subject: TestSubject, { id, expiresAt }: Token) => {
    await subject.claim('a', { lease: null })
    const token = { id, until: expiresAt }
    const request = leaseRequest({ types: [subject.type] })
    return await world.store.runs.lease({ ...request, grant: { ...request.grant, token } }, null)
  }
  const heartbeat = (held: ClaimAnswer | LeaseAnswer) =>
    world.store.runs.heartbeat(holderOf(held), null)
  const audits = async (subject: TestSubject) => (await subject.audits('a')).map(({ type }) => type)

  describe('a revoked token', () => {
    it('takes the leases obtained with it: a worker’s run waits for the next worker', async () => {
      const [subject, other] = [new TestSubject(world), new TestSubject(world)]
      const [token, kept] = [await make(), await make()]
      const held = (await leaseWith(subject, token))!
      const safe = (await leaseWith(other, kept))!
      await world.store.tokens.revoke(token.id, 'admin')
      await expect(heartbeat(held)).rejects.toMatchObject({ code: 'lease_lost' })
      const late = world.store.runs.complete(completion(held, 'succeeded'), null)
      await expect(late).rejects.toMatchObject({ code: 'lease_lost' })
      expect(await world.store.runs.due(10)).toEqual([held.run.id])
      const swept = await world.store.runs.sweep(held.run.id)
      expect(swept).toMatchObject({ state: 'pending', attempt: 1, tokenId: null })
      expect(await audits(subject)).toEqual([
        ...['run.claimed', 'run.leased', 'run.lease_revoked', 'run.heartbeat_lost'],
      ])
      const next = await subject.lease()
      expect(next?.run).toMatchObject({ state: 'running', attempt: 1 })
      await world.store.runs.complete(completion(safe, 'succeeded'), null)
    })

    it('takes what a caller claimed: the next claim gets it', async () => {
      const subject = new TestSubject(world)
      const token = await make()
      const lease = grant({ token: { id: token.id, until: null } })
      const held = await subject.claim('a', { lease })
      await world.store.tokens.revoke(token.id, 'admin')
      await expect(heartbeat(held)).rejects.toMatchObject({ code: 'lease_lost' })
      await world.store.runs.sweep(held.run!.id)
      expect(await subject.state('a')).toBe('running')
      expect(await subject.claim('a')).toMatchObject({ reason: 'reclaimed', process: true })
    })

    it('obtains nothing any more, even for a caller who was let in before', async () => {
      const [subject, other] = [new TestSubject(world), new TestSubject(world)]
      const token = await make()
      await world.store.tokens.revoke(token.id, 'admin')
      const refused = { code: 'unauthorized' }
      const lease = grant({ token: { id: token.id, until: null } })
      const [late, beside] = await Promise.allSettled([
        subject.claim('a', { lease }),
        other.claim('a'),
      ])
      expect(late).toMatchObject({ status: 'rejected', reason: refused })
      expect(beside).toMatchObject({ status: 'fulfilled', value: { process: true } })
      await expect(leaseWith(subject, token)).rejects.toMatchObject(refused)
      expect((await subject.claim('a')).reason).toBe('duplicate')
    })

    it('ends a lease that is granted while it is being revoked', async () => {
      for (let round = 0; round < 20; round += 1) {
        const subject = new TestSubject(world)
        const token = await make()
        const lease = grant({ token: { id: token.id, until: null } })
        const revoke = (): Promise<void> => world.store.tokens.revoke(token.id, 'admin')
        const claim = (): Promise<ClaimAnswer> => subject.claim('a', { lease })
        const [first, second] = round % 2 === 0 ? [revoke, claim] : [claim, revoke]
        const [one, other] = await Promise.allSettled([first(), second()])
        const claimed = round % 2 === 0 ? other : one
        if (claimed.status === 'rejected') continue
        expect(await subject.run('a')).toMatchObject({ state: 'running', tokenUntil: 0 })
      }
    })

    it('is distinguished from a valid one', async () => {
      const [dead, alive] = [await make(), await make()]
      await world.store.tokens.revoke(dead.id, 'admin')
      expect(await world.store.tokens.ended([dead.id, alive.id, 'tok_never'])).toEqual([
        ...[dead.id, 'tok_never'],
      ])
    })
  })

  describe('a token that expires', () => {
    it('ends its leases then, and they are not renewed beyond it', async () => {
      const subject = new TestSubject(world)
      const expiresAt = world.store.now() + leaseMs + 10 * second
      const held = (await leaseWith(subject, await make({ expiresAt })))!
      world.clock.move(20 * second)
      expect((await heartbeat(held)).expiresAt).toBe(expiresAt)
      world.clock.move(leaseMs - 10 * second)
      await expect(heartbeat(held)).rejects.toMatchObject({ code: 'lease_lost' })
      expect(await world.store.runs.due(10)).toEqual([held.run.id])
      expect(await world.store.runs.sweep(held.run.id)).toMatchObject({ state: 'pending' })
    })

    it('counts as ended from that moment on', async () => {
      const token = await make({ expiresAt: world.store.now() + minute })
      expect(await world.store.tokens.ended([token.id])).toEqual([])
      world.clock.move(minute)
      expect(await world.store.tokens.ended([token.id])).toEqual([token.id])
    })

    it('is not created if it would already be expired', async () => {
      const late = make({ expiresAt: world.store.now() })
      await expect(late).rejects.toMatchObject({ field: 'expires_at' })
    })
  })

  it('shows when it was last used, written once a minute', async () => {
    const token = await make()
    const usedAt = async () => (await world.store.tokens.get(token.id))?.lastUsedAt
    expect(await usedAt()).toBeNull()
    await world.store.tokens.touch(token.id)
    const first = world.store.now()
    world.clock.move(minute - 1)
    await world.store.tokens.touch(token.id)
    expect(await usedAt()).toBe(first)
    world.clock.move(1)
    await world.store.tokens.touch(token.id)
    expect(await usedAt()).toBe(first + minute)
  })

  describe('limited to a repository', () => {
    const limited = async (...repos: string[]): Promise<TokenLimits> => {
      const { id } = await make({ repos })
      return (await world.store.tokens.get(id))!.limits
    }
    const seen = async (within: TokenLimits) =>
      (await world.store.runs.list({ within }, page)).items.map(({ repo }) => repo).toSorted()
    const reaches = async (limits: TokenLimits, name: string) =>
      reachesRepository(
        limits,
        (await world.store.repositories.getByName(name)) ?? { id: null, name },
      )

    it('lists and leases what is within its limit, and nothing else', async () => {
      const [inside, outside] = [new TestSubject(world), new TestSubject(world)]
      await outside.claim('a', { lease: null })
      await inside.claim('a', { lease: null })
      const job = new TestSubject(world, { kind: 'job' })
      await job.claim('a', { lease: null })
      const within = await limited(inside.repo)
      expect(await seen(within)).toEqual([inside.repo])
      const leased = await world.store.runs.lease(
        { ...leaseRequest({ types: null }), within },
        null,
      )
      expect(leased?.run.repo).toBe(inside.repo)
      expect(
        await world.store.runs.lease({ ...leaseRequest({ types: null }), within }, null),
      ).toBeNull()
      const types = { repositories: null, types: [job.type] }
      expect((await world.store.runs.list({ within: types }, page)).items).toHaveLength(1)
      const other = { ...leaseRequest({ types: [outside.type] }), within: types }
      expect(await world.store.runs.lease(other, null)).toBeNull()
    })

    it('by the start of names reaches all repositories with such names', async () => {
      const owner = unique('owner')
      for (const name of [`${owner}/a`, `${owner}/b`, `${owner}-2/a`]) {
        await new TestSubject(world).claim('a', { repo: name, key: unique('key') })
      }
      expect(await seen(await limited(`${owner}/*`))).toEqual([`${owner}/a`, `${owner}/b`])
      expect(await seen(await limited(`${owner}/b*`, `${owner}-2/a`))).toEqual([
        ...[`${owner}-2/a`, `${owner}/b`],
      ])
    })

    it('follows the repository through a rename, not the name to another repository', async () => {
      const [old, now] = [unique('acme/old'), unique('acme/now')]
      const limits = await limited(old)
      await world.store.repositories.learn(old, 41, 'now', 'test')
      await world.store.repositories.learn(now, 41, 'now', 'test')
      await world.store.repositories.learn(old, 42, 'now', 'test')
      expect(await reaches(limits, now)).toBe(true)
      expect(await reaches(limits, old)).toBe(false)
    })

    it('reaches both rows that turn out to be one repository', async () => {
      const [identified, stray] = [unique('acme/known'), unique('acme/stray')]
      await world.store.repositories.learn(identified, 51, 'now', 'test')
      const limits = await limited(stray)
      expect(await reaches(limits, identified)).toBe(false)
      await world.store.repositories.learn(stray, 51, 'now', 'test')
      const { items } = await world.store.tokens.list(page)
      expect(await reaches(items[0]!.limits, stray)).toBe(true)
    })
  })

  it('or signature that was wrong is in the audit, with the address', async () => {
    const refusals = [
      { address: '192.0.2.7', what: 'token', count: 12 },
      { address: 'other addresses', what: 'signature', count: 400 },
    ] as const
    await world.store.tokens.noteRefusals(refusals)
    const { items } = await world.store.audit.list({ type: 'access.refused' }, page)
    expect(items.toReversed().map(({ data }) => data)).toEqual(refusals)
  })

  it('ends nothing that was obtained without it, however long ago', async () => {
    const subject = new TestSubject(world)
    const held = await subject.claim('a')
    await world.store.tokens.revoke((await make()).id, 'admin')
    world.clock.move(hour)
    await heartbeat(held)
  })
}
