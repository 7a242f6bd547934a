/**
 * Goal: the store can say what was never heard: which webhooks it has, which repositories sent
 * some, since when it listens; and tells what was caught up apart from what came.
 */
import { expect, it } from 'vitest'
import { pullRequestClaim, unique } from './claims.ts'
import { newWebhook, received, toldOf } from './webhooks.ts'
import { hour, useWorld, type OpenStore } from './world.ts'

export function catchingUp(open: OpenStore): void {
  const world = useWorld(open)

  it('a webhook that was caught up is told as such, whatever was decided', async () => {
    const { store } = world()
    const waits = await received(store, { caughtUp: true })
    const ignored = { decision: 'ignored', reason: 'draft', waits: false } as const
    const done = await received(store, { caughtUp: true, ...ignored })
    expect([await toldOf(world(), waits), await toldOf(world(), done)]).toEqual([
      ['webhook.caught_up'],
      ['webhook.caught_up'],
    ])
    const { items } = await store.listAudit({ inboxId: done.id }, { limit: 1, cursor: null })
    expect(items[0]).toMatchObject({
      actor: 'catch-up',
      data: { webhook_id: done.webhookId, decision: 'ignored', reason: 'draft' },
    })
    const late = await store.receiveWebhook(newWebhook({ webhookId: waits.webhookId }))
    expect(late).toMatchObject({ arrived: 'again', entry: { id: waits.id } })
  })

  it('says which of many GUIDs it has', async () => {
    const { store } = world()
    const { webhookId } = await received(store)
    const asked = Array.from({ length: 250 }, () => unique('missing'))
    expect([...(await store.catchUp.knownWebhooks([...asked, webhookId]))]).toEqual([webhookId])
    expect(await store.catchUp.knownWebhooks([])).toEqual(new Set())
  })

  it('knows the repositories that events came from, the last used first', async () => {
    const { store, clock } = world()
    const [heard, unheard, old] = [unique('a/heard'), unique('a/unheard'), unique('a/old')]
    await store.learnRepository(old, 71)
    await store.claimRun(pullRequestClaim({ repo: old, pr: 1, head: 'a' }), null)
    clock.move(2 * hour)
    await store.learnRepository(heard, 72)
    for (const repo of [heard, unheard]) {
      await store.claimRun(pullRequestClaim({ repo, pr: 1, head: 'a' }), null)
    }
    const used = await store.catchUp.repositoriesInUse(store.now() - hour, 10)
    expect(used).toEqual([{ name: heard, githubId: 72 }])
    const all = await store.catchUp.repositoriesInUse(store.now() - 3 * hour, 10)
    expect(all.map(({ name }) => name)).toEqual([heard, old])
    expect(await store.catchUp.repositoriesInUse(0, 1)).toEqual([{ name: heard, githubId: 72 }])
  })

  it('remembers when it was first started', async () => {
    const { store, clock } = world()
    expect(await store.firstStartedAt()).toBeNull()
    await store.recordMode('live')
    const first = await store.firstStartedAt()
    clock.move(hour)
    await store.recordMode('live')
    expect(first).not.toBeNull()
    expect(await store.firstStartedAt()).toBe(first)
  })
}
