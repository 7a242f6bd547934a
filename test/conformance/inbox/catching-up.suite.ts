/**
 * Goal: the store knows what may have been missed: which webhooks it has, which repositories sent
 * some, and since when it runs; and it marks webhooks that catch-up found.
 */
import { describe, expect, it } from 'vitest'
import type { TakenHeadCheck } from '../../../src/store/catch-up-store.ts'
import { leaseMs, pullRequestClaim, sha, unique } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { newWebhook, received, auditTypesOf } from './webhooks.ts'
import { hour, minute, useWorld, type OpenStore } from '../world.ts'

export function catchingUp(open: OpenStore): void {
  const world = useWorld(open)

  it('a webhook that catch-up found is marked so, whatever was decided', async () => {
    const { store } = world()
    const waits = await received(store, { caughtUp: true })
    const ignored = { decision: 'ignored', reason: 'draft', waits: false } as const
    const done = await received(store, { caughtUp: true, ...ignored })
    expect([await auditTypesOf(world(), waits), await auditTypesOf(world(), done)]).toEqual([
      ['webhook.caught_up'],
      ['webhook.caught_up'],
    ])
    const { items } = await store.audit.list({ inboxId: done.id }, { limit: 1, cursor: null })
    expect(items[0]).toMatchObject({
      actor: 'catch-up',
      data: { webhook_id: done.webhookId, decision: 'ignored', reason: 'draft' },
    })
    const late = await store.inbox.receive(newWebhook({ webhookId: waits.webhookId }))
    expect(late).toMatchObject({ arrived: 'again', entry: { id: waits.id } })
  })

  it('says which of many GUIDs it has', async () => {
    const { store } = world()
    const { webhookId } = await received(store)
    const asked = Array.from({ length: 250 }, () => unique('missing'))
    expect([...(await store.catchUp.knownWebhooks([...asked, webhookId]))]).toEqual([webhookId])
    expect(await store.catchUp.knownWebhooks([])).toEqual(new Set())
  })

  it('lists the repositories that events came from, the last used first', async () => {
    const { store, clock } = world()
    const [received, silent, old] = [unique('a/heard'), unique('a/unheard'), unique('a/old')]
    await store.repositories.learn(old, 71, 'now', 'test')
    await store.runs.claim(pullRequestClaim({ repo: old, pr: 1, head: 'a' }), null)
    clock.move(2 * hour)
    await store.repositories.learn(received, 72, 'now', 'test')
    for (const repo of [received, silent]) {
      await store.runs.claim(pullRequestClaim({ repo, pr: 1, head: 'a' }), null)
    }
    const used = await store.catchUp.repositoriesInUse(store.now() - hour, 10)
    expect(used).toEqual({ items: [{ name: received, githubId: 72 }], left: 0 })
    const all = await store.catchUp.repositoriesInUse(store.now() - 3 * hour, 10)
    expect(all.items.map(({ name }) => name)).toEqual([received, old])
  })

  it('lists the repositories that GitHub named, also without a claim', async () => {
    const { store, clock } = world()
    const [identified, unverified] = [unique('b/heard'), unique('b/told')]
    await store.repositories.learn(identified, 73, 'now', 'test')
    await store.repositories.learnUnverified(unverified, 74, null, 'test')
    const names = async (): Promise<string[]> => {
      const { items } = await store.catchUp.repositoriesInUse(store.now() - hour, 1000)
      return items
        .map(({ name }) => name)
        .filter((name) => name === identified || name === unverified)
    }
    expect(await names()).toEqual([identified])
    await store.repositories.learn(unverified, 74, 'now', 'test')
    expect(new Set(await names())).toEqual(new Set([identified, unverified]))
    clock.move(2 * hour)
    expect(await names()).toEqual([])
    // After a new event, the repository is in use again.
    await store.repositories.learn(identified, 73, store.now(), 'test')
    expect(await names()).toEqual([identified])
  })

  it('begins with the repositories that were not checked for the longest time', async () => {
    const { store, clock } = world()
    const names = ['a', 'b', 'c'].map((name) => unique(`rotating/${name}`))
    for (const [i, repo] of names.entries()) {
      clock.move(hour)
      await store.repositories.learn(repo, 7100 + i, 'now', 'test')
      await store.runs.claim(pullRequestClaim({ repo, pr: 1, head: 'a' }), null)
    }
    const since = store.now() - 2.5 * hour
    const seen: (string | undefined)[] = []
    for (let pass = 0; pass < 4; pass++) {
      const { items, left } = await store.catchUp.repositoriesInUse(since, 1)
      expect(left).toBe(2)
      seen.push(items[0]?.name)
      clock.move(1)
      await store.catchUp.noteLooked(items[0]!.githubId)
    }
    expect(seen).toEqual([names[2], names[1], names[0], names[2]])
  })

  it('quiet repositories take turns, on any node, at most once an hour', async () => {
    const { store, clock } = world()
    const names = ['a', 'b', 'c', 'd', 'e'].map((name) => unique(`quiet/${name}`))
    for (const [i, repo] of names.entries()) {
      clock.move(1)
      await store.repositories.learn(repo, 8100 + i, 'now', 'test')
      await store.runs.claim(pullRequestClaim({ repo, pr: 1, head: 'a' }), null)
    }
    clock.move(2 * hour)
    const fresh = unique('quiet/fresh')
    await store.repositories.learn(fresh, 8200, 'now', 'test')
    await store.runs.claim(pullRequestClaim({ repo: fresh, pr: 1, head: 'a' }), null)
    const look = async (): Promise<string[]> => {
      const found = await store.catchUp.quietRepositories(store.now() - hour, 2)
      for (const quiet of found.items) await store.catchUp.noteQuietLooked(quiet)
      return [...found.items.map(({ name }) => name), `then ${found.next.length}`]
    }
    // Repositories of other tests come first.
    const turns: string[] = []
    for (let at = 0; at < 40; at += 1) turns.push(...(await look()))
    const ours = turns.filter((name) => names.includes(name))
    expect(ours).toEqual(names)
    expect(turns).not.toContain(fresh)
    expect(turns.at(-1)).toBe('then 0')
    clock.move(hour)
    expect(await look()).toHaveLength(3)
  })

  it('stores how far GitHub’s list of webhooks was read', async () => {
    const { catchUp } = world().store
    expect(await catchUp.deliveriesRead()).toBeNull()
    const read = { to: 5, gap: { cursor: 'v1_7', from: 9 } }
    await catchUp.noteDeliveriesRead(read)
    expect(await catchUp.deliveriesRead()).toEqual(read)
    expect(await catchUp.backlog()).toMatchObject({ deliveriesUnread: true })
    expect(await catchUp.backlog()).toMatchObject({ deliveriesUnfetched: [] })
    const owed = [
      { id: 7, guid: 'guid-7', event: 'push', deliveredAt: 6, tries: 1, nextAt: 8 },
    ] as const
    await catchUp.noteDeliveriesRead({ to: 9, gap: null, owed })
    expect(await catchUp.deliveriesRead()).toEqual({ to: 9, gap: null, owed })
    expect(await catchUp.backlog()).toMatchObject({
      ...{ deliveriesUnread: false, deliveriesUnfetched: ['guid-7'] },
    })
  })

  describe('a head that only the order of arrival decided', () => {
    const undecided = async () => {
      const subject = new TestSubject(world())
      await subject.claim('a', { eventAt: 5 })
      const next = await subject.claim('b', { eventAt: 5 })
      expect(next.unclear).toBe(true)
      return { subject, held: next, run: next.run! }
    }
    /** Takes all due head checks, also of other subjects. Returns the one of this run. */
    const take = async (runId: string | undefined) => {
      let own: TakenHeadCheck | null = null
      for (;;) {
        const taken = await world().store.catchUp.takeHeadCheck()
        if (taken === null) return own
        if (taken.run?.id === runId) own = taken
      }
    }
    const settle = (runId: string, fence: number, head: string) =>
      world().store.runs.confirmHead({
        ...{ runId, fence, actor: 'check' },
        ...{ headSha: sha(head), baseSha: sha('main'), at: 7 },
      })

    it('is asked about again until GitHub has answered', async () => {
      const { run } = await undecided()
      expect(await take(run.id)).toBeNull()
      world().clock.move(minute)
      expect(await take(run.id)).toMatchObject({ givenUp: false })
      expect(await take(run.id)).toBeNull()
      world().clock.move(minute)
      expect(await take(run.id)).toMatchObject({ givenUp: false })
      await settle(run.id, run.fence, 'b')
      world().clock.move(hour)
      expect(await take(run.id)).toBeNull()
    })

    it('is not asked about after another head replaced it; the new one is', async () => {
      const { subject, run } = await undecided()
      const next = await subject.claim('c')
      world().clock.move(hour)
      expect(await take(run.id)).toBeNull()
      world().clock.move(hour)
      expect(await take(next.run?.id)).toMatchObject({ givenUp: false })
    })

    it('that came back while GitHub was asked is asked about once more', async () => {
      const { subject, run } = await undecided()
      await subject.claim('c')
      const back = await subject.claim('b')
      expect(back).toMatchObject({ unclear: true, run: { id: run.id } })
      expect(await settle(run.id, run.fence, 'c')).toMatchObject({ result: 'unchanged' })
      world().clock.move(minute)
      expect(await take(run.id)).toMatchObject({ givenUp: false })
      await settle(run.id, back.run!.fence, 'b')
      world().clock.move(hour)
      expect(await take(run.id)).toBeNull()
    })

    it.each(['a', 'b'])(
      'that came back while it is worked on is not settled by an older look at %s',
      async (seen) => {
        const subject = new TestSubject(world(), { onNewer: 'queue' })
        await subject.claim('0', { eventAt: 5 })
        const first = await subject.claim('a', { eventAt: 5 })
        await subject.claim('b', { eventAt: 6 })
        const back = await subject.claim('a')
        expect(back).toMatchObject({ reason: 'duplicate', unclear: true })
        const { id, fence } = first.run!
        expect(back.run).toMatchObject({ id, fence })
        await settle(id, fence, seen)
        await world().store.catchUp.forgetHeadCheck(id, fence)
        expect(await subject.isCurrent('a')).toBe(true)
        expect(await subject.subject()).toMatchObject({ headAt: null })
        world().clock.move(minute)
        const asked = (await take(id))!
        expect(asked.fence).toBeGreaterThanOrEqual(back.decisionId)
        await settle(id, asked.fence, 'b')
        expect(await subject.isCurrent('b')).toBe(true)
      },
    )

    it('is decided by GitHub although a worker has skipped it meanwhile', async () => {
      const { subject, held, run } = await undecided()
      await subject.complete(held, 'skipped')
      world().clock.move(minute)
      const { run: skipped } = (await take(run.id))!
      const answer = await settle(run.id, skipped!.fence, 'a')
      expect(answer).toMatchObject({ result: 'moved' })
      world().clock.move(hour)
      expect(await take(run.id)).toBeNull()
    })

    it('that a rule skipped while GitHub was asked is asked about once more', async () => {
      const { subject, run } = await undecided()
      await subject.claim('c')
      const back = await subject.claim('b', { skipReason: 'not wanted' })
      expect(back).toMatchObject({ unclear: true, reason: 'skipped', run: { id: run.id } })
      expect(await settle(run.id, run.fence, 'c')).toMatchObject({ result: 'unchanged' })
      world().clock.move(minute)
      expect(await take(run.id)).toMatchObject({ givenUp: false })
    })

    it('of a repository that had two names is asked about once', async () => {
      const { store, clock } = world()
      const subject = new TestSubject(world())
      const [id, renamed] = [7200, unique('acme/renamed')]
      await store.repositories.learn(subject.repo, id, 'now', 'test')
      await subject.claim('a')
      await subject.claim('b', { repo: renamed })
      const last = await subject.claim('c', { repo: renamed })
      expect(last.unclear).toBe(true)
      await store.repositories.learn(renamed, id, 'now', 'test')
      clock.move(minute)
      const { run } = (await take(last.run!.id))!
      expect(await settle(run!.id, run!.fence, 'c')).toMatchObject({ result: 'confirmed' })
      clock.move(hour)
      expect(await take(run!.id)).toBeNull()
    })

    it('that was claimed again since it asked is settled by the next look', async () => {
      const { subject, run } = await undecided()
      world().clock.move(leaseMs)
      const again = await subject.claim('b', { eventAt: 5 })
      expect(again.run).toMatchObject({ id: run.id, attempt: 2 })
      expect(again.run!.fence).toBeGreaterThan(run.fence)
      world().clock.move(minute)
      const { fence } = (await take(run.id))!
      expect(await settle(run.id, fence, 'a')).toMatchObject({ result: 'moved' })
      expect(await subject.isCurrent('a')).toBe(true)
    })

    it('of a repository with two names is not settled by a look before it came back', async () => {
      const { store, clock } = world()
      const subject = new TestSubject(world(), { onNewer: 'queue' })
      const [id, renamed] = [7300, unique('acme/renamed')]
      await store.repositories.learn(subject.repo, id, 'now', 'test')
      await subject.putInState('0', 'succeeded', { eventAt: 4 })
      const stray = { repo: renamed, eventAt: 5 }
      await subject.putInState('a', 'succeeded', stray)
      const first = await subject.claim('b', stray)
      await subject.claim('c', { ...stray, eventAt: 6 })
      const back = await subject.claim('b', { repo: renamed })
      expect(back).toMatchObject({ unclear: true, run: { fence: first.run!.fence } })
      await store.repositories.learn(renamed, id, 'now', 'test')
      const { id: runId, fence } = first.run!
      await store.catchUp.forgetHeadCheck(runId, fence)
      expect(await settle(runId, fence, 'c')).toMatchObject({ result: 'unchanged' })
      clock.move(minute)
      expect((await take(runId))!.fence).toBeGreaterThanOrEqual(back.decisionId)
    })

    it('is not asked about when GitHub has no such pull request', async () => {
      const { run } = await undecided()
      await world().store.catchUp.forgetHeadCheck(run.id, run.fence)
      world().clock.move(hour)
      expect(await take(run.id)).toBeNull()
    })

    it('is given up after a day, and the audit says so', async () => {
      const { subject, run } = await undecided()
      let hours = 0
      for (let givenUp = false; !givenUp && hours < 100; hours += 1) {
        world().clock.move(hour)
        givenUp = (await take(run.id))?.givenUp === true
      }
      expect(hours).toBeGreaterThan(20)
      expect(hours).toBeLessThan(100)
      expect((await subject.audits('b')).at(-1)).toMatchObject({
        ...{ type: 'run.head_unverified', actor: 'catch-up', runId: run.id },
      })
      world().clock.move(hour)
      expect(await take(run.id)).toBeNull()
    })
  })

  it('stores when it was first started', async () => {
    const { store, clock } = world()
    expect(await store.upkeep.firstStartedAt()).toBeNull()
    await store.upkeep.recordMode('live')
    const first = await store.upkeep.firstStartedAt()
    clock.move(hour)
    await store.upkeep.recordMode('live')
    expect(first).not.toBeNull()
    expect(await store.upkeep.firstStartedAt()).toBe(first)
  })
}
