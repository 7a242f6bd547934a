/**
 * What every channel must do, whatever and wherever it publishes. The test reads what the receiver
 * got, not what the channel reports. The channel under test is a parameter: one to GitHub, or any
 * other.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Channel, Prepared, Target, Written } from '../../../src/channel.ts'
import type { SendFailure } from '../../../src/domain/outbox/outcome.ts'
import { rejectionOf } from '../../github/github-under-test.ts'

/** A deadline later than any time that a test reaches. */
const inTime = 1_000_000_000

/** With the first three, the receiver does what was asked, and the answer is lost. */
export type ChannelFault =
  'lostAnswer' | 'badGateway' | 'brokenJson' | 'lostRequest' | 'limit' | 'refusal'

/** How long the fault `limit` asks to wait. */
export const limitSeconds = 72

export interface ChannelUnderTest {
  readonly title: string
  readonly first: unknown
  readonly second: unknown
  /** Invalid content for this channel. */
  readonly wrong: unknown
  readonly shows: { readonly first: string }
  open(): Promise<OpenedChannel>
}

export interface OpenedChannel {
  readonly channel: Channel
  readonly clock: { readonly wall: number; pass(ms: number): void }
  target(given?: Partial<Target>): Target
  /** All outputs, oldest first: the id as Holdfast records it, and the visible text. */
  there(): readonly { readonly id: string; readonly shows: string }[]
  /** How many requests were received that create an output. */
  writes(): number
  /** How many requests of any kind were received. */
  asked(): number
  /** The next request that creates an output fails in this way. */
  play(fault: ChannelFault): void
  close(): Promise<void>
}

export function exerciseChannel(the: ChannelUnderTest): void {
  describe(`${the.title}, as any channel`, () => {
    let world: OpenedChannel
    beforeEach(async () => {
      world = await the.open()
    })
    afterEach(() => world.close())

    const prepare = (content: unknown, target = world.target()): Promise<Prepared> =>
      world.channel.prepare(target, content)
    const write = async (content: unknown, sendBy = inTime): Promise<Written> =>
      await world.channel.write(world.target(), await prepare(content), sendBy)
    const failureOf = async (asked: Promise<unknown>): Promise<SendFailure | null> =>
      world.channel.declaration.failureOf(await rejectionOf(asked))
    const look = async (given: Partial<Target>, since: number | null, sendBy = inTime) => {
      const request = { target: world.target(given), prepared: await prepare(the.first), since }
      return await world.channel.look?.(request, sendBy)
    }

    it('declares what it can do, and nothing else', () => {
      const { declaration, admission, ...can } = world.channel
      expect(declaration.inDoubt.policy === 'confirm').toBe(can.look !== undefined)
      expect(declaration.looksFirst && can.look === undefined).toBe(false)
      expect(declaration.keptCopy !== null).toBe(can.remove !== undefined)
      if (declaration.identityOf !== null) expect(admission).toBeUndefined()
    })

    it('writes what is wanted and returns its address', async () => {
      const { providerId } = await write(the.first)
      expect(world.there()).toEqual([{ id: providerId, shows: the.shows.first }])
      const seen = await look({ providerId }, null)
      if (seen === undefined) return
      expect(seen.found).toMatchObject([{ providerId, current: true }])
      expect(seen.unverified).toBe(false)
    })

    it.each(['lostAnswer', 'badGateway', 'brokenJson'] as const)(
      'reports in doubt when the answer was lost (%s), and finds the output',
      async (fault) => {
        const since = world.clock.wall
        world.play(fault)
        expect(await failureOf(write(the.first))).toMatchObject({ kind: 'unanswered' })
        const [made] = world.there()
        expect(made?.shows).toBe(the.shows.first)
        world.clock.pass(1000)
        const seen = await look({}, since)
        if (seen !== undefined) {
          expect(seen.found).toMatchObject([{ providerId: made!.id, current: true }])
        }
        expect(world.writes()).toBe(1)
      },
    )

    it('reports in doubt when the request was lost, and finds nothing', async () => {
      const since = world.clock.wall
      world.play('lostRequest')
      expect(await failureOf(write(the.first))).toMatchObject({ kind: 'unanswered' })
      expect(world.there()).toEqual([])
      expect((await look({}, since))?.found ?? []).toEqual([])
    })

    it('does not send what cannot leave in time', async () => {
      await write(the.first)
      world.clock.pass(10)
      const before = world.asked()
      const late = [
        () => write(the.first, 9),
        ...(world.channel.look === undefined ? [] : [() => look({}, null, 9)]),
        ...(world.channel.placeIsThere === undefined
          ? []
          : [() => world.channel.placeIsThere!(world.target(), 9)]),
      ]
      for (const ask of late) expect(await failureOf(ask())).toMatchObject({ kind: 'too_late' })
      expect(world.asked()).toBe(before)
    })

    it('reports a limit, with its end, and sends nothing after it', async () => {
      world.play('limit')
      const until = world.clock.wall + limitSeconds * 1000
      expect(await failureOf(write(the.first))).toMatchObject({ kind: 'limited', until })
      expect(world.writes()).toBe(1)
      expect(world.there()).toEqual([])
    })

    it('reports a permanent refusal after one request', async () => {
      world.play('refusal')
      expect(await failureOf(write(the.first))).toMatchObject({ kind: 'refused' })
      expect(world.writes()).toBe(1)
      expect(world.there()).toEqual([])
    })

    it('does not handle an error that is not from its connection', () => {
      expect(world.channel.declaration.failureOf(new TypeError('a bug of ours'))).toBeNull()
    })

    it('refuses invalid content or a missing target before any request', async () => {
      const before = world.asked()
      for (const content of [the.wrong, null, 'text', {}]) {
        const error = await rejectionOf(prepare(content))
        expect(error).toMatchObject({ code: 'invalid_content' })
      }
      const nowhere = world.target({ thread: null, sha: null, address: null })
      const error = await rejectionOf(prepare(the.first, nowhere))
      expect(error).toMatchObject({ code: 'invalid_content' })
      expect(world.asked()).toBe(before)
    })

    it('distinguishes two contents', async () => {
      const { hash } = await prepare(the.first)
      expect((await prepare(the.first)).hash).toBe(hash)
      const isSame = JSON.stringify(the.first) === JSON.stringify(the.second)
      expect((await prepare(the.second)).hash === hash).toBe(isSame)
    })
  })
}
