/**
 * What must come of publishing on every channel, whatever goes wrong on the way: once, in the end,
 * or failed and visible. The simulated GitHub is asked what it received and what stands there.
 */
import { type ChannelName } from '../../../src/channels/github-channels.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { unannounced } from '../../../src/domain/run.ts'
import type { Fault, GitHubSimulator } from '../../../src/simulator/index.ts'
import { channelCases } from './channel-cases.ts'
import { PublisherWorld } from './publisher-world.ts'
import { hour, minute, second, type OpenStore } from '../world.ts'

interface PublishedCase {
  readonly title: string
  /** Wants it published, as a run does. */
  want(world: PublisherWorld): Promise<void>
  readonly route: string
  there(github: GitHubSimulator): readonly { readonly id: string }[]
  /** What a second one is: removed again, impossible, or there to stay, as GitHub has it. */
  readonly copies: 'removed' | 'none' | 'stay'
}

const copiesOf: Record<ChannelName, PublishedCase['copies']> = {
  'github-comment': 'removed',
  'github-label': 'none',
  'github-status': 'stay',
  'github-check': 'stay',
  'github-review': 'stay',
}

const ownOutput = channelCases.map((each): PublishedCase => ({
  title: each.name,
  want: async (world) =>
    world.publish(await world.claim(unannounced), each.name, each.first as object),
  route: each.route,
  there: (github) => each.there(github),
  copies: copiesOf[each.name],
}))
const [comments] = ownOutput
const anchor: PublishedCase = {
  ...comments!,
  title: 'the anchor',
  want: async (world) => {
    await world.claim({ ...unannounced, anchorPer: 'subject' })
  },
}

export function exercisePublishing(name: string, open: OpenStore): void {
  for (const each of [anchor, ...ownOutput]) {
    describe(`publishing ${each.title}, on ${name}`, () => exercise(each, open))
  }
}

function exercise(the: PublishedCase, open: OpenStore): void {
  let world: PublisherWorld
  beforeEach(async () => {
    world = await PublisherWorld.open(open)
  })
  afterEach(async () => {
    await world.close()
    expect(world.errors).toEqual([])
  })

  const there = () => the.there(world.github)
  const asked = () => world.github.count(the.route)
  const play = (fault: Fault) => world.github.faults.add({ on: { route: the.route }, fault })

  async function expectPublishedOnce(requests = 1): Promise<void> {
    const delivery = await world.delivery()
    expect(delivery).toMatchObject({ status: 'SENT', providerId: there()[0]?.id })
    expect(there()).toHaveLength(1)
    expect(asked()).toBe(requests)
    // Nor does anything come of it later.
    await world.pass(hour)
    expect((await world.delivery()).dueAt).toBeNull()
    expect(there()).toHaveLength(1)
    expect(asked()).toBe(requests)
  }

  it('asks GitHub once, however often it is wanted', async () => {
    await the.want(world)
    await world.pass(minute)
    await the.want(world).catch(() => undefined)
    await world.pass(minute)
    await expectPublishedOnce()
  })

  it('after a death before the attempt was stored', async () => {
    await the.want(world)
    await world.turnUntilDead('beginAttempt', 'asking')
    expect(asked()).toBe(0)
    world.leaseOver()
    await world.pass(minute)
    await expectPublishedOnce()
  })

  it('after a death before it was sent', async () => {
    await the.want(world)
    await world.turnUntilDead('beginAttempt', 'answer')
    expect(asked()).toBe(0)
    world.leaseOver()
    await world.pass(minute)
    await expectPublishedOnce()
  })

  it('after a death before its answer was stored', async () => {
    await the.want(world)
    await world.turnUntilDead('endAttempt', 'asking')
    expect(there()).toHaveLength(1)
    world.leaseOver()
    await world.pass(minute)
    await expectPublishedOnce()
  })

  it.each(['lostAnswer', 'badGateway', 'brokenJson'] as const)(
    'when the answer is lost (%s)',
    async (fault) => {
      play(world.github.faults[fault]())
      await the.want(world)
      await world.pass(minute)
      await expectPublishedOnce()
      const { id } = await world.delivery()
      expect(await world.told(id)).toContain('delivery.in_doubt')
    },
  )

  it('when the request is lost', async () => {
    play(world.github.faults.reset())
    await the.want(world)
    await world.pass(minute)
    await expectPublishedOnce(2)
  })

  it('when a request of somebody who lost the lease arrives after the next one’s', async () => {
    const held = play(world.github.faults.delayedCommit())
    await the.want(world)
    const late = world.turn()
    await expect.poll(() => held.hits).toBe(1)
    world.leaseOver()
    await world.pass(minute)
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

  it('not before a limit is over, and that costs no try', async () => {
    play(world.github.faults.secondaryLimit({ retryAfterSeconds: 72 }))
    await the.want(world)
    await world.pass(71 * second)
    expect(asked()).toBe(1)
    expect(await world.delivery()).toMatchObject({ status: 'PENDING', wait: 'budget', tries: 0 })
    await world.pass(2 * second)
    await expectPublishedOnce(2)
  })

  it('never where it is refused for good, until an operator says so', async () => {
    play(world.github.faults.refuse(403))
    await the.want(world)
    await world.pass(hour)
    const { id, ...failed } = await world.delivery()
    expect(failed).toMatchObject({ status: 'FAILED', reason: 'forbidden' })
    expect(asked()).toBe(1)
    expect(await world.told(id)).toContain('delivery.failed')
    await world.store.outbox.retry(id, 'an operator', null)
    await world.pass(minute)
    await expectPublishedOnce(2)
  })
}
