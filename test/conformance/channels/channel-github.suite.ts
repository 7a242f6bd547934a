/**
 * What every channel to GitHub must do in addition to channel.suite.ts. The test reads what the
 * simulated GitHub received, not what the channel reports.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GitHubErrorKind } from '../../../src/github/errors.ts'
import { rejectionOf } from '../../github/github-under-test.ts'
import type { ChannelCase } from './channel-cases.ts'
import {
  ChannelWorld,
  repo,
  baseSha,
  inTime,
  secondKey,
  sha,
  thread,
  firstKey,
  type Identity,
  type Way,
} from './channel-world.ts'

export function exerciseOnGitHub(the: ChannelCase, identity: Identity, way: Way): void {
  describe(`${the.name} as ${identity}, ${way}`, () => {
    let world: ChannelWorld
    beforeEach(async () => {
      world = await ChannelWorld.open(identity, { way })
    })
    afterEach(() => world.close())

    const there = () => the.there(world.github)
    const add = (fault: Parameters<ChannelWorld['github']['faults']['add']>[0]['fault']) =>
      world.github.faults.add({ on: { route: the.route }, fault })

    it(`sent again with its id, it ${the.again}`, async () => {
      const { providerId } = await world.write(the.name, the.first)
      const second = await world.write(the.name, the.second, { providerId })
      const { first, second: last } = the.shows
      expect(there().map(({ shows }) => shows)).toEqual(
        the.again === 'adds' ? [first, last] : [last],
      )
      expect(there().at(-1)!.id).toBe(second.providerId)
      expect(second.providerId === providerId).toBe(the.again !== 'adds')
    })

    it('sees whether the target shows what is wanted', async () => {
      const { providerId } = await world.write(the.name, the.first)
      const wanted =
        the.name === 'github-label' ? { ...(the.first as object), present: false } : the.second
      const { found } = await world.look(the.name, wanted, { providerId })
      expect(found).toMatchObject([{ providerId, current: false }])
    })

    it('sees nothing where nothing of it was published', async () => {
      expect(await world.look(the.name, the.first)).toEqual({ found: [], unverified: false })
    })

    it.each<[number, GitHubErrorKind]>([
      [403, 'forbidden'],
      [404, 'not_found'],
      [410, 'gone'],
      [422, 'invalid'],
      [503, 'unanswered'],
    ])('reports a %i as %s, after one request', async (answer, kind) => {
      add(world.github.faults.refuse(answer))
      expect(await rejectionOf(world.write(the.name, the.first))).toMatchObject({ kind })
      expect(world.github.count(the.route)).toBe(1)
    })

    it('distinguishes a connection that never opened from one that was lost', async () => {
      add(world.github.faults.refused())
      const error = await rejectionOf(world.write(the.name, the.first))
      const kind = way === 'over HTTP' ? 'unanswered' : 'network'
      expect(error).toMatchObject({ kind })
    })

    // Only an App can get itself a new token.
    if (identity === 'app') {
      it('renews an expired token, and writes once', async () => {
        await world.look(the.name, the.first)
        world.github.expireTokens()
        await world.write(the.name, the.first)
        expect(there()).toHaveLength(1)
        expect(world.github.count(the.route)).toBe(2)
      })
    }

    it('writes and looks by the id of the repository, not by its name', async () => {
      const { id } = world.github.repository(repo)
      world.github.rename(repo, 'acme/gadgets')
      world.github.addRepository(repo)
      world.github.addPull(repo, { number: thread, headSha: sha, baseSha })
      const { providerId } = await world.write(the.name, the.first, { repoGithubId: id })
      const { found } = await world.look(the.name, the.first, { repoGithubId: id }, 0)
      expect(found).toMatchObject([{ providerId, current: true }])
      const newer = world.github.repository(repo).id
      const place = { repoGithubId: newer }
      expect((await world.look(the.name, the.first, place, 0)).found).toEqual([])
    })

    it('distinguishes its own output from missing and foreign output', async () => {
      const whose = (providerId: string, given = {}) => {
        const claim = { target: world.target(given), providerId, content: the.first }
        return world.channel(the.name).ownershipOf!(claim, inTime)
      }
      const { providerId } = await world.write(the.name, the.first)
      expect(await whose(providerId)).toBe('ours')
      expect(await whose('1')).toBe('absent')
      const isMarked = the.name !== 'github-status' && the.name !== 'github-label'
      if (isMarked) expect(await whose(providerId, { markerKey: 'other' })).toBe('another')
      // Only an App writes check runs, and a label does not show who set it.
      if (the.name === 'github-check' || the.name === 'github-label') return
      const theirs = await world.writeAsStranger(the.name, the.first)
      expect(await whose(theirs.providerId)).toBe('foreign')
    })

    it('distinguishes an existing target from a missing one', async () => {
      const isThere = (given = {}) =>
        world.channel(the.name).placeIsThere!(world.target(given), 1e9)
      expect(await isThere()).toBe(true)
      world.github.restrict(repo)
      expect(await isThere()).toBe(false)
      // The App no longer knows its installation there, and cannot find it out.
      expect(await isThere()).toBe(false)
      world.github.allow(repo)
      const onCommit = the.name === 'github-status' || the.name === 'github-check'
      if (!onCommit) expect(await isThere({ thread: 6 })).toBe(false)
    })

    it('treats the same content with a new key as unchanged', async () => {
      const { hash } = await world.prepare(the.name, the.first)
      world.keys = { current: secondKey, all: [firstKey, secondKey] }
      expect((await world.prepare(the.name, the.first)).hash).toBe(hash)
    })
  })
}
