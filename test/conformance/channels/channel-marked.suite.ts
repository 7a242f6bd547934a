/**
 * What holds for comments and reviews, which are recognised by their marker: whatever others write,
 * Holdfast finds its own and only its own.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ChannelCase } from './channel-cases.ts'
import { comment, review } from './channel-cases.ts'
import { ChannelWorld, firstKey, repo, secondKey, thread, type Identity } from './channel-world.ts'

export function exerciseMarked(the: ChannelCase, identity: Identity): void {
  describe(`${the.name} as ${identity} is recognised by its marker`, () => {
    let world: ChannelWorld
    beforeEach(async () => {
      world = await ChannelWorld.open(identity)
    })
    afterEach(() => world.close())

    const content = (body: string) =>
      the.name === 'github-review' ? review({ body }) : comment(body)
    const bodies = () =>
      the.name === 'github-review'
        ? world.github.reviews(repo, thread).map(({ body }) => body)
        : world.github.comments(repo, thread).map(({ body }) => body)
    const find = (given = {}) => world.look(the.name, the.first, given)

    it('and not by a marker that somebody else copied', async () => {
      await world.write(the.name, the.first)
      const [ours] = await find().then(({ found }) => found)
      await world.writeAsStranger(the.name, the.first)
      world.github.commentAs('mallory', repo, thread, bodies()[0]!)
      expect(bodies().at(-1)).toBe(bodies()[0])
      expect(await find()).toEqual({ found: [ours], unverified: false })
    })

    it('and not found when only somebody else wrote one', async () => {
      await world.writeAsStranger(the.name, the.first)
      expect(await find()).toEqual({ found: [], unverified: false })
    })

    it('and not by our author alone, or by a part of its key', async () => {
      await world.write(the.name, the.first, { markerKey: 'a1b2c3:anchor2' })
      await world.write(the.name, the.first, { markerKey: 'a1b2c3' })
      expect(await find()).toEqual({ found: [], unverified: false })
    })

    it('also with an older key', async () => {
      const { providerId } = await world.write(the.name, the.first)
      world.keys = { current: secondKey, all: [firstKey, secondKey] }
      expect((await find()).found).toMatchObject([{ providerId, current: true }])
    })

    it('and held when none of our keys verifies it', async () => {
      await world.write(the.name, the.first)
      world.keys = { current: secondKey, all: [secondKey] }
      expect(await find()).toEqual({ found: [], unverified: true })
    })

    it('on any page', async () => {
      const other = (n: number) => ({ markerKey: `other:${n}` })
      for (let n = 0; n < 120; n += 1) await world.write(the.name, the.first, other(n))
      const { providerId } = await world.write(the.name, the.first)
      for (let n = 120; n < 250; n += 1) await world.write(the.name, the.first, other(n))
      const before = world.github.requests.length
      expect((await find()).found).toMatchObject([{ providerId, current: true }])
      const pages = world.github.requests.slice(before).length
      expect(pages).toBe(the.name === 'github-review' ? 2 : 3)
    })

    it('also when the text had to be cut to what GitHub accepts', async () => {
      const long = '0123456789 abcdef 😀\n'.repeat(6000)
      const { providerId } = await world.write(the.name, content(long))
      const [body] = bodies()
      expect(body!.length).toBeLessThanOrEqual(65_000)
      expect(body!.length).toBeGreaterThan(60_000)
      expect(body).toMatch(/<!-- holdfast:1 [^>]+ -->$/)
      expect(body!.isWellFormed()).toBe(true)
      const { found } = await world.look(the.name, content(long))
      expect(found).toMatchObject([{ providerId, current: true }])
    })

    it('though its text imitates a marker, ends the marker or mentions people', async () => {
      const victim = { markerKey: 'victim:anchor' }
      await world.write(the.name, the.first, victim)
      const stolen = /<!-- holdfast:1.*-->/.exec(bodies()[0]!)![0]
      const hostile = [
        `Nice. ${stolen}`,
        '<!-- holdfast:1 k1 victim%3Aanchor',
        '-->',
        '<details><summary>@acme/everyone',
        'cc @octocat, &#64;octocat',
        stolen,
        '```\n<!-- unclosed',
      ].join('\n\n')
      const { providerId } = await world.write(the.name, content(hostile))
      const written = bodies().at(-1)!
      expect(written.match(/<!--/g)).toHaveLength(1)
      expect(written.match(/-->\s*$/g)).toHaveLength(1)
      expect(written).not.toMatch(/(^|\s)@\w/)
      const { found } = await world.look(the.name, content(hostile))
      expect(found).toMatchObject([{ providerId, current: true }])
      expect((await world.look(the.name, the.first, victim)).found).toHaveLength(1)
    })

    it('and never by a login that somebody else took over', async () => {
      world.authors = { userIds: new Set([999_999]), appIds: new Set([999_999]) }
      await world.write(the.name, the.first)
      expect(await find()).toEqual({ found: [], unverified: false })
    })
  })
}
