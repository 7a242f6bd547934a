/**
 * What publishing must achieve on every channel, whatever goes wrong: the output arrives once, or
 * fails visibly. The test reads what the receiver got and shows. The channel under test is a
 * parameter: one to GitHub, or any other.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InDoubtPolicy } from '../../../src/domain/outbox/channel-declaration.ts'
import { hour, minute, second, type OpenStore } from '../world.ts'
import { limitSeconds, type ChannelFault } from './channel.suite.ts'
import type { Receiver, PublisherWorld } from './publisher-world.ts'

export interface PublishedCase<S extends Receiver> {
  readonly title: string
  readonly inDoubt: InDoubtPolicy['policy']
  open(open: OpenStore): Promise<PublisherWorld<S>>
  /** Stores a delivery to be published. */
  want(world: PublisherWorld<S>): Promise<void>
  /** How many requests were received that create the output. */
  asked(receiver: S): number
  there(receiver: S): readonly { readonly id: string }[]
  /** `delay`: the request is held back, and done after `release`. */
  play(receiver: S, fault: ChannelFault | 'delay'): PlayedFault
  /** What happens to a second copy: Holdfast removes it, there can be none, or it stays. */
  readonly copies: 'removed' | 'none' | 'stay'
}

export interface PlayedFault {
  readonly hits: number
  release(): void
}

export function exercisePublishing<S extends Receiver>(
  database: string,
  open: OpenStore,
  cases: readonly PublishedCase<S>[],
): void {
  for (const each of cases) {
    describe(`publishing ${each.title}, on ${database}`, () => exercise(each, open))
  }
}

function exercise<S extends Receiver>(the: PublishedCase<S>, open: OpenStore): void {
  let world: PublisherWorld<S>
  beforeEach(async () => {
    world = await the.open(open)
  })
  afterEach(async () => {
    await world.close()
    expect(world.errors).toEqual([])
  })

  const there = () => the.there(world.receiver)
  const asked = () => the.asked(world.receiver)
  const play = (fault: ChannelFault | 'delay') => the.play(world.receiver, fault)
  /** If the channel cannot look, it sends again, under the same id. */
  const sentTwice = the.inDoubt === 'resend' ? 2 : 1

  /** If the channel can neither look nor send again, a person decides. */
  async function decide(what: 'it arrived' | 'it did not'): Promise<void> {
    if (the.inDoubt !== 'hold') return
    const { id, ...held } = await world.delivery()
    expect(held).toMatchObject({ status: 'PENDING', wait: 'held' })
    expect(await world.auditTypes(id)).toContain('delivery.in_doubt')
    const { outbox } = world.store
    if (what === 'it did not') await outbox.retry(id, 'an operator', null)
    else await outbox.confirm(id, there()[0]!.id, 'an operator', null)
    await world.pass(minute)
  }

  async function expectPublishedOnce(requests = 1): Promise<void> {
    const delivery = await world.delivery()
    expect(delivery).toMatchObject({ status: 'SENT', providerId: there()[0]?.id })
    expect(there()).toHaveLength(1)
    expect(asked()).toBe(requests)
    // Nothing more happens later either.
    await world.pass(hour)
    expect((await world.delivery()).dueAt).toBeNull()
    expect(there()).toHaveLength(1)
    expect(asked()).toBe(requests)
  }

  it('sends once, however often the same output is requested', async () => {
    await the.want(world)
    await world.pass(minute)
    await the.want(world).catch(() => undefined)
    await world.pass(minute)
    await expectPublishedOnce()
  })

  it('publishes once after a crash before the attempt was stored', async () => {
    await the.want(world)
    await world.turnUntilDead('beginAttempt', 'asking')
    expect(asked()).toBe(0)
    world.leaseOver()
    await world.pass(minute)
    await expectPublishedOnce()
  })

  it('publishes once after a crash before the request was sent', async () => {
    await the.want(world)
    await world.turnUntilDead('beginAttempt', 'answer')
    expect(asked()).toBe(0)
    world.leaseOver()
    await world.pass(minute)
    await decide('it did not')
    await expectPublishedOnce()
  })

  it('publishes once after a crash before the answer was stored', async () => {
    await the.want(world)
    await world.turnUntilDead('endAttempt', 'asking')
    expect(there()).toHaveLength(1)
    world.leaseOver()
    await world.pass(minute)
    await decide('it arrived')
    await expectPublishedOnce(sentTwice)
  })

  it.each(['lostAnswer', 'badGateway', 'brokenJson'] as const)(
    'publishes once when the answer is lost (%s)',
    async (fault) => {
      play(fault)
      await the.want(world)
      await world.pass(minute)
      await decide('it arrived')
      await expectPublishedOnce(sentTwice)
      const { id } = await world.delivery()
      expect(await world.auditTypes(id)).toContain('delivery.in_doubt')
    },
  )

  it('publishes once when the request is lost', async () => {
    play('lostRequest')
    await the.want(world)
    await world.pass(minute)
    await decide('it did not')
    await expectPublishedOnce(2)
  })

  it('stays SENT when a late request of a holder without a lease arrives', async () => {
    const held = play('delay')
    await the.want(world)
    const late = world.turn()
    await expect.poll(() => held.hits).toBe(1)
    world.leaseOver()
    await world.pass(minute)
    await decide('it did not')
    expect(await world.delivery()).toMatchObject({ status: 'SENT', providerId: there()[0]?.id })
    const [mine] = there()
    held.release()
    await late
    await world.pass(hour)
    expect(asked()).toBe(2)
    const left = there().map(({ id }) => id)
    if (the.copies === 'stay') expect(left).toHaveLength(2)
    else expect(left).toEqual([mine?.id])
    const delivery = await world.delivery()
    expect(delivery).toMatchObject({ status: 'SENT', dueAt: null })
    expect((await world.store.outbox.attemptsOf(delivery.id)).map(({ late }) => late)).toContain(
      true,
    )
  })

  it('does not send before a limit is over, and counts no try for it', async () => {
    play('limit')
    await the.want(world)
    await world.pass((limitSeconds - 1) * second)
    expect(asked()).toBe(1)
    expect(await world.delivery()).toMatchObject({ status: 'PENDING', wait: 'budget', tries: 0 })
    await world.pass(2 * second)
    await expectPublishedOnce(2)
  })

  it('does not retry a permanent refusal until an operator asks for it', async () => {
    play('refusal')
    await the.want(world)
    await world.pass(hour)
    const { id, ...failed } = await world.delivery()
    expect(failed).toMatchObject({ status: 'FAILED', reason: 'forbidden' })
    expect(asked()).toBe(1)
    expect(await world.auditTypes(id)).toContain('delivery.failed')
    await world.store.outbox.retry(id, 'an operator', null)
    await world.pass(minute)
    await expectPublishedOnce(2)
  })
}
