/** What holds for statuses, check runs, labels and reviews, each in its own way. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rejectionOf } from '../../github/github-under-test.ts'
import { check, label, review, status } from './channel-cases.ts'
import { ChannelWorld, inTime, repo, sha, thread } from './channel-world.ts'

export function exerciseKinds(): void {
  describe('in its own way', () => {
    let world: ChannelWorld
    beforeEach(async () => {
      world = await ChannelWorld.open('app')
    })
    afterEach(() => world.close())

    describe('a status', () => {
      const name = 'github-status'
      const since = () => world.clock.wall
      const current = async (given = {}, at: number | null = null, content = status()) => {
        const { found } = await world.look(name, content, given, at)
        return found.map((each) => each.current)
      }

      it('is cut to 140 characters, however they are counted, on one line', async () => {
        await world.write(name, status({ description: `a\n${'😀'.repeat(200)}` }))
        const { description } = world.github.latestStatus(repo, sha, 'ci')!
        expect(description).toBe(`a ${'😀'.repeat(68)}…`)
      })

      it('without a text and an address says so', async () => {
        await world.write(name, status({ description: '' }))
        expect(world.github.latestStatus(repo, sha, 'ci')).toMatchObject({
          description: null,
          targetUrl: null,
        })
        expect(await current({}, null, status({ description: '' }))).toEqual([true])
      })

      it('is no longer shown when somebody wrote another one over it', async () => {
        const { providerId } = await world.write(name, status())
        expect(await current({ providerId })).toEqual([true])
        await world.writeAsStranger(name, status())
        expect(await current({ providerId })).toEqual([false])
      })

      it('is shown whatever happens in other contexts, in any spelling of its own', async () => {
        const { providerId } = await world.write(name, status({ context: 'CI' }))
        await world.writeAsStranger(name, status({ context: 'ci/other' }))
        expect(await current({ providerId })).toEqual([true])
      })

      it('that arrived late after a newer one is the shown one', async () => {
        await world.write(name, status({ state: 'success' }))
        await world.write(name, status())
        expect(await current({}, null, status({ state: 'success' }))).toEqual([false])
      })

      it('counts as arrived only above the last one that Holdfast stored', async () => {
        const { providerId } = await world.write(name, status())
        expect(await current({ providerId }, since())).toEqual([])
        await world.write(name, status())
        expect(await current({ providerId }, since())).toEqual([true])
        await world.writeAsStranger(name, status({ state: 'error' }))
        expect(await current({ providerId }, since())).toEqual([true])
      })

      it('counts as arrived only when its time fits', async () => {
        await world.write(name, status())
        world.clock.pass(60 * 60_000)
        expect(await current({}, since())).toEqual([])
        expect(await current({}, since() - 55 * 60_000)).toEqual([true])
      })

      it('is found on any page', async () => {
        await world.write(name, status())
        for (let n = 0; n < 150; n += 1) await world.write(name, status({ context: `other/${n}` }))
        expect(await current()).toEqual([true])
      })

      it('is not ours only because it says the same', async () => {
        await world.writeAsStranger(name, status())
        expect(await current()).toEqual([])
        expect(await current({}, since())).toEqual([])
      })
    })

    describe('a check run', () => {
      const name = 'github-check'
      const runs = () => world.github.checkRuns(repo, sha)

      it('carries its key, its text and the address of the details', async () => {
        const at = world.clock.wall
        const detailsUrl = 'https://holdfast.example/runs/1'
        const content = check({ detailsUrl, startedAt: at, summary: 'Reading @octocat.' })
        const { url } = await world.write(name, content)
        expect(runs()).toMatchObject([
          { externalId: 'a1b2c3:anchor', detailsUrl, output: { title: 'At work' } },
        ])
        expect(runs()[0]!.output.summary).toBe('Reading @\u200boctocat.')
        expect(url).not.toBeNull()
      })

      it('is cut to the length that GitHub accepts', async () => {
        await world.write(name, check({ summary: 'x y '.repeat(30_000), title: 't'.repeat(500) }))
        const { title, summary } = runs()[0]!.output
        expect(summary!.length).toBeLessThanOrEqual(65_535)
        expect(title).toHaveLength(255)
      })

      it('is recognised by App and key, not by its name', async () => {
        await world.write(name, check(), { markerKey: 'other' })
        expect((await world.look(name, check())).found).toEqual([])
        await world.write(name, check())
        world.authors = { ...world.authors, appIds: new Set([13]) }
        expect((await world.look(name, check())).found).toEqual([])
      })

      it('of which there are two is the newer, and the other can be closed', async () => {
        const older = await world.write(name, check())
        const newer = await world.write(name, check())
        const { found } = await world.look(name, check(), {}, 0)
        expect(found.map(({ providerId }) => providerId)).toEqual([
          newer.providerId,
          older.providerId,
        ])
        await world.channel(name).remove!(world.target(), older.providerId, inTime)
        expect(runs().map((run) => run.conclusion)).toEqual(['cancelled', null])
      })

      it('cannot be written with the token of a user', async () => {
        await world.close()
        world = await ChannelWorld.open('user')
        expect(await rejectionOf(world.write(name, check()))).toMatchObject({ kind: 'forbidden' })
      })
    })

    describe('a label', () => {
      const name = 'github-label'
      const gone = label({ present: false })

      it('is added and removed beside the labels of others', async () => {
        world.github.labelAs('octocat', repo, thread, 'bug')
        await world.write(name, label())
        expect(world.github.labels(repo, thread)).toEqual(['bug', 'reviewed'])
        await world.write(name, gone)
        expect(world.github.labels(repo, thread)).toEqual(['bug'])
      })

      it('may have characters that have a meaning in a path', async () => {
        const odd = 'area/αβγ: 100% #1?'
        await world.write(name, label({ label: odd }))
        expect(world.github.labels(repo, thread)).toEqual([odd])
        await world.write(name, label({ label: odd, present: false }))
        expect(world.github.labels(repo, thread)).toEqual([])
      })

      it('that is not there counts as removed', async () => {
        expect(await world.write(name, gone)).toEqual({ providerId: 'reviewed', url: null })
        expect((await world.look(name, gone)).found).toMatchObject([{ current: true }])
      })

      it('of a thread that cannot be read does not count as removed', async () => {
        const elsewhere = rejectionOf(world.write(name, gone, { thread: 6 }))
        expect(await elsewhere).toMatchObject({ kind: 'not_found' })
        world.github.restrict(repo)
        const unseen = rejectionOf(world.write(name, gone))
        expect(await unseen).toMatchObject({ kind: 'not_installed' })
      })

      it('is the same label in upper and lower case', async () => {
        await world.write(name, label({ label: 'Reviewed' }))
        expect((await world.look(name, label())).found).toMatchObject([{ current: true }])
        expect((await world.look(name, gone)).found).toMatchObject([{ current: false }])
      })

      it.each(['.', '..', ' .. '])(
        'called %j would mean all labels, and is refused',
        async (each) => {
          world.github.labelAs('octocat', repo, thread, 'bug')
          const wrong = rejectionOf(world.write(name, { label: each, present: false }))
          expect(await wrong).toMatchObject({ code: 'invalid_content', field: 'label' })
          expect(world.github.labels(repo, thread)).toEqual(['bug'])
        },
      )
    })

    describe('a review', () => {
      const name = 'github-review'

      it('is one request with all its comments on lines', async () => {
        const comments = [
          { path: 'a.ts', body: 'Here, @octocat', line: 3, side: null, startLine: null },
          { path: 'b.ts', body: 'There', line: 9, side: 'LEFT' as const, startLine: 7 },
        ]
        await world.write(name, review({ comments, event: 'REQUEST_CHANGES', commitSha: sha }))
        const route = 'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews'
        const [sent] = world.github.requests.filter((each) => each.route === route)
        expect(sent!.body).toMatchObject({
          event: 'REQUEST_CHANGES',
          commit_id: sha,
          comments: [
            { path: 'a.ts', body: 'Here, @\u200boctocat', line: 3, side: 'RIGHT' },
            { path: 'b.ts', line: 9, side: 'LEFT', start_line: 7, start_side: 'LEFT' },
          ],
        })
        expect(world.github.reviews(repo, thread)).toMatchObject([{ state: 'CHANGES_REQUESTED' }])
        expect(world.github.count(route)).toBe(1)
      })

      it('of which there are two is the older one, because neither can be removed', async () => {
        const { providerId } = await world.write(name, review())
        await world.write(name, review())
        expect((await world.look(name, review())).found).toMatchObject([{ providerId }])
        expect('remove' in world.channel(name)).toBe(false)
      })
    })
  })
}
