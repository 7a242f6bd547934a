/**
 * Goal: a story has the webhooks that belong to it, and no others. A webhook is called removed only
 * when it is. What a claimer says about a webhook shows nothing of another repository.
 */
import { describe, expect, it } from 'vitest'
import { explain, type Why } from '../../../src/audit/why.ts'
import type { Claim } from '../../../src/domain/claim.ts'
import { pullRequestClaim, sha, unique } from '../claims.ts'
import { StoryWorld, type Sent } from './story-world.ts'
import { day, hour, useWorld, type OpenStore } from '../world.ts'

const limits = { finishedMs: 30 * day, supersededMs: 30 * day, auditMs: 90 * day, eventMs: 7 * day }
const textsOf = ({ story }: Why): string[] => story.map(({ text }) => text)

let lastGitHubId = 5000
const nextGitHubId = (): number => (lastGitHubId += 1)

export function whyWebhooks(open: OpenStore): void {
  const world = useWorld(open)

  describe('of many webhooks', () => {
    const pushes = 14

    async function busy(): Promise<StoryWorld> {
      const story = new StoryWorld(world())
      await story.send({ head: 'a' })
      for (let i = 0; i < pushes; i += 1) {
        await story.send({ action: 'synchronize', head: i % 2 === 0 ? 'b' : 'a' })
      }
      for (let i = 0; i < 22; i += 1) await story.send({ action: 'labeled' })
      return story
    }

    it('each webhook that started something is there, with what it started', async () => {
      const story = await busy()
      const [run] = await story.runs()
      for (const told of [await story.why(), await story.why(run?.id)]) {
        expect(told.text).not.toMatch(/webhook was removed|not decided/)
      }
      const { story: told } = await story.why()
      const pushed = told.filter(({ text }) => text === 'mona pushed.')
      expect(pushed.map(({ depth }) => depth)).toEqual(Array.from({ length: pushes }, () => 0))
      const claims = told.filter(({ type }) => /^run\.(re)?claimed$/.test(type))
      expect(new Set(claims.map(({ depth }) => depth))).toEqual(new Set([1]))
    })

    it('those that are past their retention are called removed', async () => {
      const story = await busy()
      const [run] = await story.runs()
      world().clock.move(8 * day)
      while ((await story.store.upkeep.purge(limits, 'purge')).more);
      expect(textsOf(await story.why(run?.id))[0]).toBe(
        `mona pushed (its webhook was removed): review of ${sha('b').slice(0, 7)} started and ` +
          'waits for a worker.',
      )
    })
  })

  describe('that a claimer names', () => {
    const shown = 'hubot opened the pull request'
    const secret = /hubot|opened/

    /** A program claims with this webhook. Returns what it is told about its run. */
    async function claimed(guid: string, over: Partial<Claim> = {}, pr = 5): Promise<Why[]> {
      const { store } = world()
      const repo = over.repo ?? unique('acme/open')
      const named = { webhookId: guid, type: 'lint', actor: 'token:tok_1', ...over }
      const claim = pullRequestClaim({ repo, pr, head: unique('head') }, named)
      const { run } = await store.runs.claim(claim, null)
      return [await explain(store, run?.id ?? ''), await explain(store, `${repo}#${pr}`)]
    }

    async function received(sent: Sent = {}) {
      const story = new StoryWorld(world())
      const guid = crypto.randomUUID()
      const { inboxId } = await story.send({ guid, sender: 'hubot', ...sent })
      return { repo: story.repo, guid, inboxId }
    }

    it('it is the cause, if it is about the same pull request', async () => {
      const { repo, guid } = await received()
      for (const told of await claimed(guid, { repo })) expect(told.text).toContain(shown)
    })

    it('it is the cause, also if the repository was renamed since', async () => {
      const repoId = nextGitHubId()
      const [before, repo] = [unique('acme/before'), unique('acme/renamed')]
      const repository = { full_name: before, id: repoId }
      const { guid } = await received({ payload: { repository } })
      const { store } = world()
      await store.repositories.learn(repo, repoId, store.now() + hour, 'test')
      for (const told of await claimed(guid, { repo, repoId })) {
        expect(told.text).toContain(shown)
      }
    })

    it.each([
      ['GitHub’s id', () => ({ id: nextGitHubId() })],
      ['a name alone', () => ({})],
    ])('nothing of it is shown, if it is about another repository, by %s', async (_by, idOf) => {
      const repository = { full_name: unique('secret/vault'), ...idOf() }
      const { guid, inboxId } = await received({ payload: { repository } })
      for (const told of [...(await claimed(guid)), ...(await claimed(inboxId))]) {
        expect(JSON.stringify(told)).not.toMatch(secret)
      }
    })

    it('nothing of it is shown, if the claimer says that its repository has that id', async () => {
      const repoId = nextGitHubId()
      const repository = { full_name: unique('secret/vault'), id: repoId }
      const payload = { repository, issue: { number: 5 }, pull_request: undefined }
      const { guid } = await received({ event: 'issues', payload })
      const repo = unique('acme/open')
      const { repositories } = world().store
      expect(await repositories.learnUnverified(repo, repoId, null, 'token:tok_1')).toBe('known')
      for (const told of await claimed(guid, { repo, repoId })) {
        expect(JSON.stringify(told)).not.toMatch(secret)
      }
    })

    it('nothing of it is shown, if it is about another pull request', async () => {
      const { repo, guid } = await received()
      for (const told of await claimed(guid, { repo }, 6)) {
        expect(JSON.stringify(told)).not.toMatch(secret)
      }
    })
  })
}
