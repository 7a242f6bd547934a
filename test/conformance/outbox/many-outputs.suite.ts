/**
 * Goal: a run may publish more outputs than one transaction closes. Its end closes the first batch
 * and stores that more are left; later batches close the rest, in any process and also after a
 * crash.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion, holderOf, pullRequestClaim, unique } from '../claims.ts'
import { contentOf, ManualPublisher } from './manual-publisher.ts'
import { hour, openWorld, type OpenStore, type World } from '../world.ts'

/** How many outputs one transaction closes. */
const batchMax = 200
const many = batchMax + 10

export function manyOutputs(open: OpenStore): void {
  let world: World
  let repo: string
  let commit: string
  beforeEach(async () => {
    world = await openWorld(open)
    repo = unique('acme/repo')
    commit = unique('commit')
  })
  afterEach(() => world.close())

  const claim = (pr = 5, head = commit, rerun = false): Promise<ClaimAnswer> =>
    world.store.runs.claim(pullRequestClaim({ repo, pr, head }, { rerun }), null)
  const idOf = ({ run }: ClaimAnswer): string => run?.id ?? ''
  const publish = (held: ClaimAnswer, n: number, state = 'pending') => {
    const content = { context: `ci/${n}`, state, description: state, targetUrl: null }
    const output = { ...holderOf(held), name: `s${n}`, content, channel: 'github-status' } as const
    const request = { ...output, actor: 'test', rightsOf: () => allRights }
    return world.store.outbox.publish(request, null)
  }
  async function publishMany(held: ClaimAnswer, state = 'pending', count = many): Promise<void> {
    for (let n = 0; n < count; n += 1) await publish(held, n, state)
  }
  const complete = (held: ClaimAnswer) => world.store.runs.complete(completion(held), null)
  const outputs = async (held: ClaimAnswer): Promise<readonly Delivery[]> => {
    const page = { limit: 1000, cursor: null }
    const { items } = await world.store.outbox.list({ runId: idOf(held) }, page)
    return items.filter(({ name }) => name.startsWith('s') && name !== 'status')
  }
  const openOnes = async (held: ClaimAnswer): Promise<number> =>
    (await outputs(held)).filter(({ announces }) => announces).length
  /** Returns how many batches were needed. */
  async function closeAll(): Promise<number> {
    for (let batches = 0; ; batches += 1)
      if (!(await world.store.outbox.closeRemaining())) return batches
  }

  it('its end closes one batch of them, and later batches close the rest', async () => {
    const held = await claim()
    const count = 2 * batchMax + 10
    await publishMany(held, 'pending', count)
    await complete(held)
    expect(await openOnes(held)).toBe(batchMax + 10)
    expect(await world.store.outbox.closeRemaining()).toBe(true)
    expect(await openOnes(held)).toBe(10)
    expect(await closeAll()).toBe(1)
    const closed = await outputs(held)
    expect(closed).toHaveLength(count)
    for (const each of closed) {
      expect(each).toMatchObject({ announces: false, final: true, versionSeq: 2 })
      expect(contentOf(each)).toMatchObject({ state: 'error' })
    }
    expect(await world.store.outbox.closeForgotten(100)).toBe(0)
  })

  it('it is not purged before all of them are closed', async () => {
    const publisher = new ManualPublisher(world)
    const held = await claim()
    await publishMany(held)
    await publisher.publish()
    await complete(held)
    await publisher.publish()
    world.clock.move(hour)
    const limits = { finishedMs: 0, supersededMs: 0, auditMs: hour, eventMs: hour }
    expect(await world.store.upkeep.purge(limits, 'test')).toMatchObject({ runs: 0 })
    expect(await closeAll()).toBe(1)
    expect(await openOnes(held)).toBe(0)
    await publisher.publish()
    expect(await world.store.upkeep.purge(limits, 'test')).toMatchObject({ runs: 1 })
  })

  it('a run that closed most of them itself leaves no batch', async () => {
    const held = await claim()
    await publishMany(held, 'success')
    await publish(held, many, 'pending')
    await complete(held)
    expect(await openOnes(held)).toBe(0)
    expect(await closeAll()).toBe(0)
  })

  it('several runs that end together share a batch, and none is forgotten', async () => {
    const old = [await claim(6, 'a of 6'), await claim(7, 'a of 7'), await claim(8, 'a of 8')]
    for (const held of old) await publishMany(held, 'pending', batchMax / 2 + 10)
    const heads = [6, 7, 8].map((pr) => claim(pr, `b of ${pr}`))
    await Promise.all(heads)
    await closeAll()
    for (const held of old) expect(await openOnes(held)).toBe(0)
  })

  it('every status is given back, also those that were already closed', async () => {
    const five = await claim(5)
    await publishMany(five, 'failure')
    const six = await claim(6)
    await publishMany(six, 'success')
    await world.store.runs.cancel(idOf(six), 'test', null)
    await closeAll()
    expect(await outputs(six)).toEqual([])
    const shown = await outputs(five)
    expect(shown).toHaveLength(many)
    for (const each of shown) expect(contentOf(each)).toMatchObject({ state: 'failure' })
  })

  it('two processes that close at once change each of them once', async () => {
    const held = await claim()
    await publishMany(held)
    await complete(held)
    await Promise.all([closeAll(), closeAll(), closeAll()])
    const closed = await outputs(held)
    for (const each of closed) expect(each).toMatchObject({ announces: false, versionSeq: 2 })
  })

  it('a run that starts a new round meanwhile closes the rest when it ends again', async () => {
    const held = await claim()
    await publishMany(held)
    await complete(held)
    const again = await claim(5, commit, true)
    expect(again.reason).toBe('rerun')
    await closeAll()
    expect(await openOnes(again)).toBe(many - batchMax)
    await complete(again)
    await closeAll()
    expect(await openOnes(again)).toBe(0)
  })
}
