/**
 * Goal: `why` does not say that nothing came when webhooks came and were refused, or were missed
 * and fetched later.
 */
import { expect, it } from 'vitest'
import { explain } from '../../src/audit/why.ts'
import { StoryWorld } from './story-world.ts'
import { useWorld, type OpenStore } from './world.ts'

export function whyMissed(open: OpenStore): void {
  const world = useWorld(open)

  it('that nobody heard of while webhooks were refused: it may be among those', async () => {
    const { store } = world()
    const refused = async (what: 'token' | 'signature') => {
      await store.noteRefusals([{ address: '192.0.2.7', what, count: 2 }])
      return await explain(store, 'acme/unheard#9')
    }
    const before = await refused('token')
    const told = await refused('signature')
    expect(told.headline).not.toBe(before.headline)
    expect(told.headline).toMatch(
      /But \d+ webhooks were refused because the signature was wrong, the last before .* UTC:/,
    )
    expect(told.actions[0]?.text).toMatch(/same secret in the webhook on GitHub and in GITHUB_WEB/)
  })

  it.each([
    [401, 'its webhook was refused here, because its signature was wrong (401)'],
    [503, 'its webhook was not taken in (GitHub was answered 503)'],
    [0, 'its webhook did not arrive'],
  ])('whose webhook was answered %i and then fetched', async (answered, words) => {
    const story = new StoryWorld(world())
    await story.send({ head: 'a', answered })
    const { story: told } = await story.why()
    expect(told.map(({ text }) => text).join(' ')).toContain(words)
  })
}
