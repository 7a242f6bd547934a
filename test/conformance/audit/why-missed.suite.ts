/**
 * Goal: `why` does not say that no webhook came when webhooks came and were refused, or were missed
 * and fetched later.
 */
import { expect, it } from 'vitest'
import { readSignatures } from '../../../src/audit/refused-signatures.ts'
import { explain } from '../../../src/audit/why.ts'
import { checkSignatures } from '../../../src/doctor/refused-webhooks.ts'
import { NotFoundError } from '../../../src/errors.ts'
import type { Store } from '../../../src/store.ts'
import { StoryWorld } from './story-world.ts'
import { useWorld, type OpenStore } from '../world.ts'

/** What `why` says about an unknown pull request. */
async function unknown(store: Store): Promise<NotFoundError> {
  const error: unknown = await explain(store, 'acme/unheard#9').catch((failed: unknown) => failed)
  if (!(error instanceof NotFoundError)) throw new Error('something is known about it')
  return error
}

export function whyMissed(open: OpenStore): void {
  const world = useWorld(open)

  it('an unknown pull request may be among the webhooks that were refused', async () => {
    const { store } = world()
    const refused = async (what: 'token' | 'signature') => {
      await store.tokens.noteRefusals([{ address: '192.0.2.7', what, count: 2 }])
      return await unknown(store)
    }
    const before = await refused('token')
    const refusal = await refused('signature')
    expect(refusal.message).not.toBe(before.message)
    expect(refusal.message).toMatch(
      /But \d+ webhooks were refused because of a wrong signature, the last before .* UTC\./,
    )
    const [first, second] = (refusal.hint ?? '').split('. ')
    expect(first).toBe('Check that the name and the number are right')
    expect(second).toMatch(/^Set the same secret in the webhook on GitHub and in GITHUB_WEB/)
  })

  it('wrong tokens hide a refused webhook neither in why nor in doctor', async () => {
    const { store, clock } = world()
    clock.move(1000)
    await store.tokens.noteRefusals([{ address: '140.82.115.1', what: 'signature', count: 40 }])
    const tokens = Array.from({ length: 120 }, (_, i) => `10.0.0.${i}`)
    await store.tokens.noteRefusals(tokens.map((address) => ({ address, what: 'token', count: 3 })))
    expect((await unknown(store)).message).toMatch(/\d+ webhooks were refused/)
    expect(checkSignatures(await readSignatures(store))).toMatchObject([
      {
        level: expect.stringMatching(/problem|warning/),
        detail: expect.stringMatching(/140\.82\.115\.1/),
      },
    ])
  })

  it.each(['a webhook was accepted since', 'it was days ago'])(
    'for an unknown pull request a wrong signature does not count when %s',
    async (since) => {
      const { store, clock } = world()
      clock.move(1000)
      await store.tokens.noteRefusals([{ address: '192.0.2.7', what: 'signature', count: 1 }])
      expect((await unknown(store)).message).toMatch(/webhooks? (was|were) refused/)
      if (since === 'it was days ago') clock.move(2 * 24 * 3_600_000)
      else {
        clock.move(1000)
        await new StoryWorld(world()).send({ head: 'a' })
      }
      const { message, hint } = await unknown(store)
      expect(message).not.toMatch(/refused/)
      expect(hint).not.toMatch(/same secret/)
    },
  )

  it.each([
    [401, 'Its webhook had a wrong signature and was refused (401)'],
    [503, 'Its webhook was not accepted (GitHub got the answer 503)'],
    [0, 'Its webhook did not arrive'],
  ])('a webhook that was answered %i and then fetched is explained', async (answered, words) => {
    const story = new StoryWorld(world())
    await story.send({ head: 'a', answered })
    const { story: sentences } = await story.why()
    expect(sentences.map(({ text }) => text).join(' ')).toContain(words)
  })
}
