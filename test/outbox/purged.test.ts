/**
 * Goal: a run that was purged and starts again publishes again: no output of its earlier rounds is
 * taken as one of this round, and its anchor stays one comment.
 * Method: the real store and the real publisher against the simulated GitHub.
 */
import { afterEach, expect, it } from 'vitest'
import type { World, WorldOptions } from './world.ts'
import { context, head, hour, minute, openWorld, repo } from './world.ts'

const day = 24 * hour

let here: World
afterEach(() => here.close())

/** Creates a run that has ended, was shown, and was then purged. */
async function purged(
  options: WorldOptions,
  before: (claimed: Awaited<ReturnType<World['claim']>>) => Promise<unknown>,
): Promise<void> {
  here = await openWorld(options)
  here.startPublisher()
  const claimed = await here.claim()
  await before(claimed)
  await here.time.pass(minute)
  await here.complete(claimed, 'The first result.')
  await here.time.pass(hour)
  const limits = { finishedMs: 0, supersededMs: 0, eventMs: day, auditMs: day }
  expect(await here.act(here.store.upkeep.purge(limits, 'test'))).toMatchObject({ runs: 1 })
}

/** GitHub does not carry the request out and does not answer, so the sender cannot know. */
function nobodyAnswers(route: RegExp): void {
  const { faults } = here.github
  faults.add({ on: { method: 'POST', route }, fault: faults.hang() })
}

const comments = () => here.github.comments(repo, 5).map(({ body }) => body)

it('an unanswered review is not taken for one of the purged run', async () => {
  const review = (body: string) => {
    const content = { body, event: 'COMMENT', commitSha: null, comments: [] }
    return ['verdict', 'github-review', content] as const
  }
  await purged({}, (claimed) => here.publish(claimed, ...review('The first review.')))
  const again = await here.claim(1, { rerun: true })
  nobodyAnswers(/reviews$/)
  await here.publish(again, ...review('The second review.'))
  await here.time.pass(hour)
  expect(here.github.reviews(repo, 5).map(({ body }) => body.split('\n')[0])).toEqual([
    'The first review.',
    'The second review.',
  ])
})

it('an unanswered check run is not taken for that of the purged run', async () => {
  await purged({ app: true, announcement: { checkName: context } }, () => Promise.resolve())
  nobodyAnswers(/check-runs$/)
  const again = await here.claim(1, { rerun: true })
  await here.time.pass(minute)
  await here.complete(again)
  await here.time.pass(hour)
  const checks = here.github.checkRuns(repo, head(1))
  expect(checks.map(({ conclusion }) => conclusion)).toEqual(['success', 'success'])
  expect(new Set(checks.map(({ externalId }) => externalId)).size).toBe(2)
})

it('a comment per run is found, and shows the next round', async () => {
  await purged({ announcement: { anchorPer: 'run' } }, () => Promise.resolve())
  await here.complete(await here.claim(1, { rerun: true }), 'The second result.')
  await here.time.pass(hour)
  expect(comments()).toHaveLength(1)
  expect(comments()[0]).toContain('The second result.')
})
