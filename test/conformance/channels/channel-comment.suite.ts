/**
 * What holds only for comments: they are edited in place, found by time, recognised by id, and
 * removed if there are two.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AnchorView } from '../../../src/domain/outbox/anchor-view.ts'
import { rejectionOf } from '../../github/github-under-test.ts'
import { comment } from './channel-cases.ts'
import { ChannelWorld, inTime, repo, thread, type Identity } from './channel-world.ts'

const name = 'github-comment'
const hello = comment('Hello')
const minute = 60_000
const list = 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments'
const byId = 'GET /repos/{owner}/{repo}/issues/comments/{comment_id}'

const anchor = (summary: string | null): AnchorView => ({
  locale: 'en',
  type: 'review',
  runId: 'run_1',
  state: 'succeeded',
  verdict: 'success',
  round: 1,
  attempt: 1,
  headSha: 'a'.repeat(40),
  baseSha: 'b'.repeat(40),
  createdAt: 1_800_000_000_000,
  startedAt: 1_800_000_001_000,
  finishedAt: 1_800_000_061_000,
  summary,
  errorCode: null,
  errorText: null,
  targetUrl: null,
  reports: [{ text: 'Reading', count: 2, at: 1_800_000_030_000 }],
  phases: [],
  past: [],
  pastMore: 0,
})

export function exerciseComments(identity: Identity): void {
  describe(`comments as ${identity}`, () => {
    let world: ChannelWorld
    beforeEach(async () => {
      world = await ChannelWorld.open(identity)
    })
    afterEach(() => world.close())

    it('of a run show it, with room for the marker however long the text is', async () => {
      const summary = 'All of it reads well.\n'.repeat(5000)
      const pairOf = (n: number) => `base-${'b'.repeat(64)}:head-${String(n).repeat(64)}`
      const past = Array.from({ length: 10 }, (_, n) => ({
        ...{ runId: `run_${n}`, headSha: String(n).repeat(64), state: 'succeeded', at: 0 },
        resultPair: pairOf(n),
      })) satisfies AnchorView['past']
      const view = { ...anchor(summary), past }
      const { providerId } = await world.write(name, { form: 'anchor', view })
      const { body } = world.github.comments(repo, thread)[0]!
      expect(body).toContain('All of it reads well.')
      expect(body).not.toContain('/runs/')
      expect(body.length).toBeLessThanOrEqual(65_000)
      expect(body).toMatch(/<!-- holdfast:result review base-b{40}:head-a{40} base-/)
      expect(body).toContain(`${pairOf(9)} -->`)
      const { found } = await world.look(name, { form: 'anchor', view }, {}, 0)
      expect(found).toMatchObject([{ providerId, current: true }])
    })

    it('of a run that have the wrong form are refused with the field', async () => {
      const view = { ...anchor(null), state: 'sleeping' }
      const error = await rejectionOf(world.prepare(name, { form: 'anchor', view }))
      expect(error).toMatchObject({ code: 'invalid_content', field: 'view.state' })
    })

    it('are reported with their address on the page', async () => {
      const { url } = await world.write(name, hello)
      expect(url).toMatch(new RegExp(`${repo}/pull/${thread}#issuecomment-\\d+$`))
    })

    it('are read by id with one request, and without any other', async () => {
      const { providerId } = await world.write(name, hello)
      const before = world.github.requests.length
      await world.look(name, hello, { providerId })
      expect(world.github.requests.slice(before).map(({ route }) => route)).toEqual([byId])
    })

    it('that a person deleted are reported as missing', async () => {
      const { providerId } = await world.write(name, hello)
      world.github.deleteCommentAs('octocat', Number(providerId))
      const seen = await world.look(name, hello, { providerId })
      expect(seen).toEqual({ found: [], unverified: false })
      const edit = rejectionOf(world.write(name, hello, { providerId }))
      expect(await edit).toMatchObject({ kind: 'not_found' })
      expect(await world.channel(name).placeIsThere!(world.target(), inTime)).toBe(true)
    })

    it('that a person edited stay ours, and are not current', async () => {
      const { providerId } = await world.write(name, hello)
      world.github.editCommentAs('octocat', Number(providerId), 'Goodbye')
      for (const since of [null, 0]) {
        const { found } = await world.look(name, hello, { providerId }, since)
        expect(found).toMatchObject([{ providerId, current: false }])
      }
    })

    it('are listed only since shortly before the given time', async () => {
      await world.write(name, hello)
      world.clock.pass(60 * minute)
      const since = world.clock.wall
      expect((await world.look(name, hello, {}, since)).found).toEqual([])
      expect((await world.look(name, hello, {}, since - 51 * minute)).found).toHaveLength(1)
      const [asked] = world.github.requests.filter(({ route }) => route === list)
      const from = new Date(since - 10 * minute).toISOString().replace('.000', '')
      expect(asked!.query['since']).toBe(from)
    })

    it.each([-3, 3])("are found by GitHub's clock, which is %i hours ahead", async (hours) => {
      await world.close()
      world = await ChannelWorld.open(identity, { aheadMs: hours * 60 * minute })
      const since = world.clock.wall
      const { providerId } = await world.write(name, hello)
      world.clock.pass(5000)
      const { found } = await world.look(name, hello, {}, since)
      expect(found).toMatchObject([{ providerId, current: true }])
    })

    it('are all listed when the given time is in the future', async () => {
      const { providerId } = await world.write(name, hello)
      const { found } = await world.look(name, hello, {}, world.clock.wall + 90 * minute)
      expect(found).toMatchObject([{ providerId }])
    })

    it('of which there are two are both found, the older first, however old it is', async () => {
      const first = await world.write(name, hello)
      world.clock.pass(60 * minute)
      const second = await world.write(name, comment('Hello again'))
      const sent = { providerId: first.providerId }
      const { found } = await world.look(name, hello, sent, world.clock.wall)
      expect(found).toMatchObject([
        { providerId: first.providerId, current: true },
        { providerId: second.providerId, current: false },
      ])
    })

    it('are removed, and removing one that is already gone succeeds', async () => {
      const { providerId } = await world.write(name, hello)
      const remove = () => world.channel(name).remove!(world.target(), providerId, inTime)
      await remove()
      expect(world.github.comments(repo, thread)).toEqual([])
      await remove()
      world.github.lock(repo, thread)
      const late = world.channel(name).remove!(world.target(), providerId, -1)
      expect(await rejectionOf(late)).toMatchObject({ kind: 'too_late' })
    })

    it('in a locked thread are refused permanently', async () => {
      world.github.lock(repo, thread)
      world.github.setRole(repo, 'acme-bot', 'read')
      expect(await rejectionOf(world.write(name, hello))).toMatchObject({ kind: 'forbidden' })
    })
  })
}
