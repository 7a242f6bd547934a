/**
 * Goal: an Idempotency-Key. The first answer is stored with its effect and returned again. Another
 * body is refused. A lease is returned again only while it is valid.
 */
import { expect, it } from 'vitest'
import type { IdempotencyKey } from '../../../src/store.ts'
import { completion, holderOf, leaseMs, leaseRequest, unique } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { day, useWorld, type OpenStore } from '../world.ts'

/** Seals as Base64, so that the stored text differs from the answer. */
export function onceOf(keyHash: string, bodyHash = 'body'): IdempotencyKey {
  return {
    keyHash,
    bodyHash,
    seal: (text) => Buffer.from(text).toString('base64'),
    open: (sealed) => Buffer.from(sealed, 'base64').toString(),
  }
}

export function idempotency(open: OpenStore): void {
  const world = useWorld(open)
  const make = () => new TestSubject(world())

  it('a repeated claim gets the first answer with its lease, and claims once', async () => {
    const subject = make()
    const key = onceOf(unique('key'))
    const first = await world().store.runs.claim(subject.claimOf('a'), key)
    const again = await world().store.runs.claim(subject.claimOf('a'), key)
    expect(again).toEqual(first)
    expect(again.lease?.secret).toBe(first.lease?.secret)
    expect(await subject.audits('a')).toHaveLength(1)
    await subject.complete(again)
  })

  it('two requests at once with one key act once', async () => {
    const subject = make()
    const key = onceOf(unique('key'))
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => world().store.runs.claim(subject.claimOf('a'), key)),
    )
    expect(new Set(answers.map(({ lease }) => lease?.secret)).size).toBe(1)
    expect(answers.every(({ reason }) => reason === 'new')).toBe(true)
  })

  it('another body under the key is refused and does nothing', async () => {
    const key = unique('key')
    const [subject, other] = [make(), make()]
    await world().store.runs.claim(subject.claimOf('a'), onceOf(key))
    const reused = world().store.runs.claim(other.claimOf('a'), onceOf(key, 'another'))
    await expect(reused).rejects.toMatchObject({ code: 'idempotency_key_reused' })
    await expect(other.run('a')).rejects.toThrow('no run')
  })

  it('a claim is decided again once its run was reclaimed', async () => {
    const subject = make()
    const key = onceOf(unique('key'))
    const first = await world().store.runs.claim(subject.claimOf('a'), key)
    world().clock.move(leaseMs)
    await subject.claim('a')
    const again = await world().store.runs.claim(subject.claimOf('a'), key)
    expect(again).toMatchObject({ reason: 'duplicate', lease: null, run: { id: first.run?.id } })
  })

  it('a claim is decided again once its lease expired', async () => {
    const subject = make()
    const key = onceOf(unique('key'))
    const first = await world().store.runs.claim(subject.claimOf('a'), key)
    world().clock.move(leaseMs)
    const again = await world().store.runs.claim(subject.claimOf('a'), key)
    expect(again).toMatchObject({ reason: 'reclaimed', process: true })
    expect(again.lease?.secret).not.toBe(first.lease?.secret)
  })

  it.each(['completed', 'superseded'] as const)(
    'a claim is decided again once its run is %s',
    async (what) => {
      const subject = make()
      const key = onceOf(unique('key'))
      const claim = subject.claimOf('a', { eventAt: 1 })
      const first = await world().store.runs.claim(claim, key)
      if (what === 'completed') await subject.complete(first)
      else await subject.claim('b', { eventAt: 2 })
      const again = await world().store.runs.claim(claim, key)
      const reason = what === 'completed' ? 'duplicate' : 'stale-event'
      expect(again).toMatchObject({ reason, process: false, lease: null })
    },
  )

  it('a claim that left its run pending is repeated until a worker has it', async () => {
    const subject = make()
    const key = onceOf(unique('key'))
    const claim = subject.claimOf('a', { lease: null })
    const first = await world().store.runs.claim(claim, key)
    expect(await world().store.runs.claim(claim, key)).toEqual(first)
    await subject.lease()
    expect(await world().store.runs.claim(claim, key)).toMatchObject({ reason: 'duplicate' })
  })

  it('a repeated lease is the same lease while it is held', async () => {
    const subject = make()
    await subject.claim('a', { lease: null })
    const key = onceOf(unique('key'))
    const take = () => world().store.runs.lease(leaseRequest({ types: [subject.type] }), key)
    const first = await take()
    expect(await take()).toEqual(first)
    await subject.complete(first!)
    expect(await take()).toBeNull()
  })

  it('an empty answer is not kept: the next one may get a run', async () => {
    const subject = make()
    const key = onceOf(unique('key'))
    const take = () => world().store.runs.lease(leaseRequest({ types: [subject.type] }), key)
    expect(await take()).toBeNull()
    await subject.claim('a', { lease: null })
    expect((await take())?.run.state).toBe('running')
  })

  it('a refusal is not kept: the key may be used again, with any body', async () => {
    const subject = make()
    const held = await subject.claim('a')
    const key = unique('key')
    const wrong = { ...completion(held), leaseHash: 'wrong' }
    const refused = world().store.runs.complete(wrong, onceOf(key))
    await expect(refused).rejects.toMatchObject({ code: 'lease_lost' })
    const right = await world().store.runs.complete(completion(held), onceOf(key, 'another'))
    expect(right.state).toBe('succeeded')
  })

  it('every other verb repeats its answer, whatever happened meanwhile', async () => {
    const subject = make()
    const { store } = world()
    const held = await subject.claim('a')
    const beatKey = onceOf(unique('key'))
    const beat = await store.runs.heartbeat(holderOf(held), beatKey)
    world().clock.move(1000)
    expect(await store.runs.heartbeat(holderOf(held), beatKey)).toEqual(beat)
    const cancelKey = onceOf(unique('key'))
    const cancelled = await store.runs.cancel(held.run!.id, 'person', cancelKey)
    await subject.claim('a')
    expect(await store.runs.cancel(held.run!.id, 'person', cancelKey)).toEqual(cancelled)
    expect(await subject.state('a')).toBe('running')
  })

  it('after a day the request with that key is decided again', async () => {
    const key = unique('key')
    const token = { scope: 'read', name: null, userId: null, secret: 'one', actor: 'admin' }
    const first = await world().store.tokens.create(token, onceOf(key))
    world().clock.move(day - 1)
    const other = { ...token, secret: 'two' }
    expect(await world().store.tokens.create(other, onceOf(key))).toEqual(first)
    world().clock.move(1)
    const created = await world().store.tokens.create(other, onceOf(key, 'another'))
    expect(created.token.id).not.toBe(first.token.id)
  })
}
