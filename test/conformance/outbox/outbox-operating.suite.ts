/**
 * Goal: what a run publishes itself is sent once per name and round; operators can retry, skip or
 * confirm; upkeep keeps what is open and removes the rest.
 */
import {
  allRights,
  defaultRights,
  type ChannelName,
} from '../../../src/channels/github-channels.ts'
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { PublishRequest } from '../../../src/store/outbox-store.ts'
import { purgeAll, purgeLimits } from '../../../src/runs/purge.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { holderOf, pullRequestClaim, unique } from '../claims.ts'
import { announced, contentOf, noAnswer, sentEnd } from './manual-publisher.ts'
import { useOutbox } from './outbox-world.ts'
import { TestSubject } from '../test-subject.ts'
import { day, type OpenStore } from '../world.ts'

const limits = purgeLimits({ finishedDays: 30, supersededDays: 7, inboxDays: 7, auditDays: 90 })
const page = { limit: 100, cursor: null }

const contents: Readonly<Record<ChannelName, PublishRequest['content']>> = {
  'github-comment': { form: 'text', body: 'Found three.' },
  'github-review': { body: 'Found three.', event: 'COMMENT', commitSha: null, comments: [] },
  'github-status': { context: 'acme/lint', state: 'pending', description: '', targetUrl: null },
  'github-check': { name: 'acme/types', status: 'in_progress', conclusion: null, title: '' },
  'github-label': { label: 'Needs-Work', present: true },
}
const messages = ['github-comment', 'github-review'] as const
const states = ['github-status', 'github-check', 'github-label'] as const

export function operating(open: OpenStore): void {
  const { world, publisher, outbox, make, now } = useOutbox(open)
  const put = (held: ClaimAnswer, channel: ChannelName, over: Partial<PublishRequest> = {}) => {
    const { runId, leaseHash } = holderOf(held)
    return outbox().publish(
      {
        runId,
        leaseHash,
        actor: 'test',
        name: 'own',
        channel,
        content: contents[channel],
        rightsOf: () => allRights,
        ...over,
      },
      null,
    )
  }

  describe('an output that a run publishes itself', () => {
    it.each(messages)('on %s is published once per name and round', async (channel) => {
      const subject = make()
      const held = await subject.claim('a')
      const first = await put(held, channel)
      expect(first).toMatchObject({ already: false, delivery: { kind: 'message', name: 'own' } })
      expect(await put(held, channel)).toMatchObject({
        ...{ already: true, delivery: { id: first.delivery.id } },
      })
      const other = { content: { ...contents[channel], body: 'Found four.' } }
      await expect(put(held, channel, other)).rejects.toMatchObject({ code: 'content_differs' })
      const second = await put(held, channel, { ...other, name: 'another' })
      expect(second.already).toBe(false)
      await subject.complete(held)
      const again = await subject.claim('a', { rerun: true })
      const next = await put(again, channel)
      expect(next.already).toBe(false)
      expect(next.delivery.id).not.toBe(first.delivery.id)
    })

    it.each(states)('on %s may be published again, and has one target', async (channel) => {
      const held = await make().claim('a')
      const first = await put(held, channel)
      expect((await put(held, channel)).already).toBe(true)
      const changed = { ...contents[channel], present: false, title: 'new', description: 'new' }
      const next = await put(held, channel, { content: changed })
      expect(next).toMatchObject({ already: false, delivery: { id: first.delivery.id } })
      expect(next.delivery.versionSeq).toBe(first.delivery.versionSeq + 1)
    })

    it('under one name has one channel', async () => {
      const held = await make().claim('a')
      await put(held, 'github-label')
      await expect(put(held, 'github-comment')).rejects.toMatchObject({ code: 'content_differs' })
    })

    it('is refused from a holder that lost the run', async () => {
      const subject = make()
      const held = await subject.claim('a')
      await subject.claim('b')
      await expect(put(held, 'github-comment')).rejects.toMatchObject({ code: 'superseded' })
      expect((await outbox().list({ channel: 'github-comment' }, page)).items).toHaveLength(1)
    })

    it('at a target that a newer run has taken is refused', async () => {
      const repo = unique('acme/shared')
      const claim = (pr: number) =>
        world.store.runs.claim(pullRequestClaim({ repo, pr, head: 'the same' }), null)
      const [old, newer] = [await claim(5), await claim(6)]
      await put(old, 'github-status')
      expect((await put(newer, 'github-status')).already).toBe(false)
      const again = { content: { ...contents['github-status'], state: 'success' } }
      await expect(put(old, 'github-status', again)).rejects.toMatchObject({ code: 'target_taken' })
    })

    it('has no target if the run has none, and never that of the run’s result', async () => {
      const held = await make().claim('a')
      const own = { content: { ...contents['github-status'], context: 'HOLDFAST/Review' } }
      await expect(put(held, 'github-status', own)).rejects.toMatchObject({
        code: 'context_reserved',
      })
      const check = { content: { ...contents['github-check'], name: 'holdfast\u200b/Review ' } }
      await expect(put(held, 'github-check', check)).rejects.toMatchObject({
        code: 'context_reserved',
      })
      const job = await new TestSubject(world, { kind: 'job' }).claim('a')
      await expect(put(job, 'github-comment')).rejects.toMatchObject({ code: 'no_place' })
    })

    it('shows no result of a type that only another program on this store knows', async () => {
      const repo = unique('acme/repo')
      const of = (type: string, statusContext: string) => {
        const announcement = { ...announced, statusContext, checkName: null }
        const own = { type, policy: { ...make().policy, announcement } }
        return world.store.runs.claim(
          pullRequestClaim({ repo, pr: 5, head: 'the same' }, own),
          null,
        )
      }
      await of('lint', 'Acme/Lint')
      const docs = await of('docs', 'acme/docs')
      for (const [channel, name] of [
        ['github-status', 'context'],
        ['github-check', 'name'],
      ] as const) {
        const content = { ...contents[channel], [name]: 'acme/lint' }
        await expect(put(docs, channel, { content })).rejects.toMatchObject({
          code: 'context_reserved',
        })
      }
    })

    it('shows no other type’s result, and only what its type is allowed', async () => {
      const held = await make().claim('a')
      const rights = { ...defaultRights, reserved: ['acme/lint', 'acme/types'] }
      const as = (over: Partial<typeof rights>) => ({ rightsOf: () => ({ ...rights, ...over }) })
      for (const channel of ['github-status', 'github-check'] as const) {
        const everything = as({ ...allRights, reserved: rights.reserved })
        await expect(put(held, channel, everything)).rejects.toMatchObject({
          code: 'context_reserved',
        })
        await expect(put(held, channel, as({ reserved: [] }))).rejects.toMatchObject({
          code: 'publish_not_allowed',
        })
      }
      await expect(put(held, 'github-label', as({}))).rejects.toMatchObject({
        code: 'publish_not_allowed',
      })
      expect((await outbox().list({}, page)).items.map(({ name }) => name)).not.toContain('own')
      expect((await put(held, 'github-comment', as({}))).already).toBe(false)
    })

    it.each(['succeeded', 'failed', 'skipped'] as const)(
      'left in progress is closed when its run has %s',
      async (outcome) => {
        const subject = make()
        const held = await subject.claim('a')
        const [status, check] = [
          await put(held, 'github-status', { name: 'lint' }),
          await put(held, 'github-check', { name: 'types' }),
        ]
        await publisher.publish()
        await subject.complete(held, outcome)
        const [lint, types] = [await now(status.delivery.id), await now(check.delivery.id)]
        for (const each of [lint, types]) {
          expect(each).toMatchObject({ status: 'PENDING', final: true, announces: false })
        }
        // A run that succeeded does not say whether this output succeeded.
        expect(contentOf(lint)['state']).toBe(outcome === 'failed' ? 'failure' : 'error')
        expect(contentOf(types)).toMatchObject({ status: 'completed' })
        expect(contentOf(types)['conclusion']).not.toBe('success')
      },
    )
  })

  describe('an operator', () => {
    const trouble = { code: 'forbidden', text: 'not allowed' }
    async function failed(): Promise<Delivery> {
      await make().claim('a')
      const leased = await publisher.leaseNamed('status')
      await publisher.send(leased, { what: 'permanent', trouble })
      return await now(leased.delivery.id)
    }

    it('retries a failed delivery: at once, with a new deadline and no tries', async () => {
      const { id } = await failed()
      world.clock.move(day)
      const again = await outbox().retry(id, 'ann', null)
      expect(again).toMatchObject({ status: 'PENDING', wait: 'due', tries: 0, reason: null })
      expect(again.dueAt).toBe(world.store.now())
      expect(again.deadlineAt).toBe(world.store.now() + day)
      expect((await publisher.auditTypes(id)).at(-1)).toBe('operator.delivery_retried')
      await publisher.publish()
      await expect(outbox().retry(id, 'ann', null)).rejects.toMatchObject({ code: 'already_sent' })
      await expect(outbox().retry('del_none', 'ann', null)).rejects.toMatchObject({
        code: 'delivery_not_found',
      })
    })

    it('unblocks one of very many identities, and finds it in the list', async () => {
      const until = world.store.now() + day
      const named = (n: number) => `github:installation:${1000 + n}`
      const all = Array.from({ length: 1001 }, (_, n) => named(n))
      await Promise.all(
        all.map((identity) => outbox().blockIdentity(identity, until, 'limit', 'publisher')),
      )
      world.clock.move(1)
      await outbox().blockIdentity(named(1001), until, 'limit', 'publisher')
      const identities = (await outbox().budgets()).map(({ identity }) => identity)
      expect(identities).toContain(named(1001))
      for (const identity of [named(0), named(1001)]) {
        expect(await outbox().unblock(identity, 'ann', null)).toMatchObject({ blockedUntil: null })
      }
    })

    it('retries many by filter, each with its audit row', async () => {
      const [one, two] = [await failed(), await failed()]
      expect(await outbox().retryMany({ channel: 'github-comment' }, 'ann', null)).toBe(0)
      expect(await outbox().retryMany({ status: 'SKIPPED' }, 'ann', null)).toBe(0)
      expect(await outbox().retryMany({ runId: one.runId! }, 'ann', null)).toBe(1)
      expect(await outbox().retryMany({}, 'ann', null)).toBe(1)
      for (const { id } of [one, two]) {
        expect(await now(id)).toMatchObject({ status: 'PENDING', wait: 'due' })
        expect((await publisher.auditTypes(id)).at(-1)).toBe('operator.delivery_retried')
      }
    })

    it('skips a delivery, with the reason; a newer version opens it again', async () => {
      const subject = make()
      const held = await subject.claim('a')
      const { id } = await publisher.named(held.run!.id, 'status')
      expect(await outbox().skip(id, 'not here', 'ann', null)).toMatchObject({
        ...{ status: 'SKIPPED', reason: 'not here' },
      })
      expect((await publisher.lease()).map(({ delivery }) => delivery.id)).not.toContain(id)
      await subject.complete(held)
      expect(await now(id)).toMatchObject({ status: 'PENDING', final: true })
      await publisher.publish()
      await expect(outbox().skip(id, 'too late', 'ann', null)).rejects.toMatchObject({
        code: 'already_sent',
      })
    })

    it('confirms a delivery in doubt; a repeated request gets the same answer', async () => {
      const { run } = await make().claim('a')
      await publisher.send(await publisher.leaseNamed('anchor'), noAnswer)
      const { id } = await publisher.named(run!.id, 'anchor')
      const confirmed = await outbox().confirm(id, '99', 'ann', null)
      expect(confirmed).toMatchObject({ status: 'SENT', providerId: '99' })
      expect(confirmed.protocol.doubt).toBeUndefined()
      expect(await outbox().confirm(id, '98', 'ann', null)).toMatchObject({ providerId: '99' })
      expect(
        (await publisher.auditTypes(id)).filter((type) => type.startsWith('operator.')),
      ).toEqual(['operator.delivery_confirmed'])
      const anchors = await outbox().anchorsOf([run!])
      expect(anchors.get(run!.id)?.commentId).toBe('99')
    })
  })

  describe('upkeep', () => {
    const purge = () => purgeAll(world.store, limits, 'purge')
    const attempts = (id: string) => outbox().attemptsOf(id)

    it('keeps a run while one of its deliveries is open', async () => {
      const subject = make()
      const held = await subject.claim('a')
      await subject.complete(held)
      world.clock.move(31 * day)
      expect(await purge()).toBe(0)
      expect(await world.store.runs.get(held.run!.id)).not.toBeNull()
      const before = await publisher.of(held.run!.id)
      await publisher.publish()
      expect(await purge()).toBe(1)
      expect(await now(before['status']!.id)).toBeNull()
      expect(await attempts(before['status']!.id)).toEqual([])
    })

    it('keeps the comment that the subject’s next run takes over', async () => {
      const subject = make()
      const held = await subject.claim('a')
      await publisher.publish()
      await subject.complete(held)
      await publisher.publish()
      const { id, providerId } = await publisher.named(held.run!.id, 'anchor')
      world.clock.move(31 * day)
      await purge()
      const { run } = await subject.claim('b')
      expect(await publisher.named(run!.id, 'anchor')).toMatchObject({ id, providerId })
    })

    it('keeps a run whose target still has to be read again', async () => {
      const subject = make()
      const held = await subject.claim('a')
      await subject.complete(held)
      const [status] = (await publisher.lease()).filter(
        ({ delivery }) => delivery.name === 'status',
      )
      await publisher.send(status!, noAnswer)
      const found = [{ providerId: '5', url: null, current: true }]
      await outbox().takeOverLeases()
      for (const leased of await publisher.lease()) {
        if (leased.delivery.name !== 'status') await publisher.send(leased)
        else {
          const hash = 'h'
          const seen = { what: 'looked', found, unverified: false, hash, looks: 1 } as const
          await outbox().record(leased.lease, seen)
        }
      }
      expect(await publisher.named(held.run!.id, 'status')).toMatchObject({ status: 'SENT' })
      world.clock.move(31 * day)
      expect(await purge()).toBe(0)
    })

    it('merges the deliveries of two names of one repository', async () => {
      const [left, right] = [unique('acme/left'), unique('acme/right')]
      const githubId = 770_000 + (world.store.now() % 10_000)
      const claim = (repo: string, eventAt: number) =>
        world.store.runs.claim(
          pullRequestClaim(
            { repo, pr: 5, head: 'a' },
            { eventAt, policy: { ...make().policy, announcement: announced } },
          ),
          null,
        )
      await world.store.repositories.learn(left, githubId, 'now', 'test')
      await claim(left, 1000)
      await publisher.publish()
      const { run } = await claim(right, 2000)
      for (const leased of await publisher.lease()) await publisher.send(leased, sentEnd())
      await world.store.repositories.learn(right, githubId, 'now', 'test')
      const { items } = await outbox().list({}, page)
      const live = items.filter(({ status }) => status !== 'SKIPPED')
      const scopes = new Set(live.map(({ repositoryId }) => repositoryId))
      expect(scopes.size).toBe(1)
      expect(live.filter(({ name }) => name === 'anchor')).toHaveLength(1)
      expect(live.filter(({ name }) => name === 'status')).toHaveLength(1)
      const [anchor] = live.filter(({ name }) => name === 'anchor')
      // The older comment stays, the other is a copy to remove.
      const ids = items.filter(({ name }) => name === 'anchor').map(({ providerId }) => providerId)
      expect(anchor?.providerId).toBe(
        ids
          .map(Number)
          .toSorted((a, b) => a - b)[0]
          ?.toString(),
      )
      expect(anchor?.protocol.surplus).toHaveLength(1)
      expect(run).not.toBeNull()
      const taken = items.filter(({ reason }) => reason === 'target_taken')
      expect(taken.length).toBeGreaterThanOrEqual(1)
    })
  })
}
