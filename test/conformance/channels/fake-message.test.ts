/**
 * Goal: a channel to something other than GitHub needs nothing but its own file.
 * Method: this file declares a fake messenger, which has addresses but no repository, run or
 * subject, with both policies for outputs that cannot be looked at. It passes the suites for any
 * channel and for publishing. Neither the domain nor a store nor the publisher knows its name.
 */
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Channel, Target } from '../../../src/channel.ts'
import { githubDeclarations } from '../../../src/channels/github-channels.ts'
import type { Clock } from '../../../src/clock.ts'
import type { ChannelDeclaration } from '../../../src/domain/outbox/channel-declaration.ts'
import type { SendFailure } from '../../../src/domain/outbox/outcome.ts'
import { InvalidInputError } from '../../../src/errors.ts'
import { createPublisher } from '../../../src/outbox/publisher.ts'
import { openSqlite } from '../../../src/stores/open-sqlite.ts'
import { ManualClock, rejectionOf } from '../../github/github-under-test.ts'
import { openOnPostgres } from '../open-on-postgres.ts'
import { hour, minute, second, type OpenStore } from '../world.ts'
import { exerciseChannel, limitSeconds, type ChannelFault } from './channel.suite.ts'
import { PublisherWorld, type Receiver, type PublisherParts } from './publisher-world.ts'
import { exercisePublishing, type PublishedCase } from './publisher.suite.ts'

type Policy = 'resend' | 'hold'
const policies: readonly Policy[] = ['resend', 'hold']

class MessengerError extends Error {
  readonly failure: SendFailure
  constructor(kind: SendFailure['kind'], until: number | null = null) {
    super(kind)
    const code = kind === 'refused' ? 'forbidden' : kind
    this.failure = { kind, until, trouble: { code, text: `the messenger answered ${kind}` } }
  }
}

const declarationOf = (policy: Policy): ChannelDeclaration => ({
  name: 'messenger',
  kind: 'message',
  place: 'address',
  replacedBy: 'edit',
  keptCopy: null,
  looksFirst: false,
  inDoubt: { policy },
  progressWritesMax: null,
  peopleCanRemove: false,
  notifiesPeople: true,
  givesBack: false,
  isAllowedByDefault: false,
  // All addresses of one server share one limit.
  identityOf: ({ address }) => `messenger:${address?.split('/')[0] ?? ''}`,
  failureOf: (error) => (error instanceof MessengerError ? error.failure : null),
  output: {},
  showsWork: () => false,
})

interface StoredMessage {
  readonly id: string
  readonly shows: string
  readonly to: string
}

/** The receiver. It keeps one message per delivery, however often the message is sent. */
class FakeMessenger {
  readonly messages: StoredMessage[] = []
  requests: string[] = []
  readonly #faults: { readonly fault: ChannelFault | 'delay'; readonly open: Promise<void> }[] = []
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  play(fault: ChannelFault | 'delay') {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#faults.push({ fault, open: promise })
    const before = this.requests.length
    const hits = () => Math.min(1, this.requests.length - before)
    return {
      get hits() {
        return hits()
      },
      release: () => resolve(),
    }
  }

  async receive(deliveryId: string, to: string, text: string): Promise<string> {
    this.requests.push(to)
    const { fault, open } = this.#faults.shift() ?? {}
    if (fault === 'delay') await open
    if (fault === 'lostRequest') throw new MessengerError('unanswered')
    if (fault === 'refusal') throw new MessengerError('refused')
    if (fault === 'limit') {
      throw new MessengerError('limited', this.#clock.wallMs() + limitSeconds * second)
    }
    const id = `message ${deliveryId}`
    if (!this.messages.some((message) => message.id === id))
      this.messages.push({ id, shows: text, to })
    if (fault !== undefined && fault !== 'delay') throw new MessengerError('unanswered')
    return id
  }
}

function messengerChannel(
  declaration: ChannelDeclaration,
  messenger: FakeMessenger,
  clock: Clock,
): Channel {
  const addressOf = ({ address }: Target): string => {
    if (address !== null) return address
    throw new InvalidInputError('invalid_content', 'address', 'there is no address')
  }
  return {
    declaration,
    prepare: async (target, content) => {
      addressOf(target)
      const text = (content as { readonly text?: unknown } | null)?.text
      if (typeof text !== 'string') {
        throw new InvalidInputError('invalid_content', 'text', 'must be a text')
      }
      return { hash: createHash('sha256').update(text).digest('hex'), body: { text } }
    },
    write: async (target, { body }, sendBy) => {
      if (clock.monotonicMs() > sendBy) throw new MessengerError('too_late')
      const { deliveryId } = target
      const id = await messenger.receive(deliveryId, addressOf(target), String(body['text']))
      return { providerId: id, url: null }
    },
  }
}

interface MessengerReceiver extends Receiver {
  readonly messenger: FakeMessenger
}

const nowhereToLearn = { learn: () => Promise.reject(new Error('it has no repository')) }

const receiverOf =
  (policy: Policy, knows = true) =>
  (clock: Clock): MessengerReceiver => {
    const messenger = new FakeMessenger(clock)
    const declaration = declarationOf(policy)
    const channels = new Map(
      knows ? [['messenger', messengerChannel(declaration, messenger, clock)]] : [],
    )
    return {
      messenger,
      channels: [declaration],
      publisher: (parts: PublisherParts) =>
        createPublisher({ ...parts, channels, repositoryIds: nowhereToLearn }),
    }
  }

const message = (address: string, text = 'Hello') => ({
  ...{ channel: 'messenger', address, key: 'the-one', content: { text } },
})

const published = (policy: Policy): PublishedCase<MessengerReceiver> => ({
  title: `a message that nobody can look at (${policy})`,
  inDoubt: policy,
  open: (open) => PublisherWorld.open(open, receiverOf(policy)),
  want: async ({ store }) => {
    await store.outbox.send(message('north/ann'))
  },
  asked: ({ messenger }) => messenger.requests.length,
  there: ({ messenger }) => messenger.messages,
  play: ({ messenger }, fault) => messenger.play(fault),
  copies: 'none',
})

const openInMemory: OpenStore = async (machine) => {
  const store = openSqlite({ path: ':memory:', exclusive: true }, machine)
  return { store, close: () => store.close() }
}

const target = (given: Partial<Target> = {}): Target => ({
  ...{ deliveryId: 'del_1', repo: null, repoGithubId: null, ownRepositoryIds: [] },
  ...{ thread: null, sha: null, address: 'north/ann', name: 'the-one', markerKey: 'k' },
  ...{ laterKeys: [], providerId: null, ...given },
})

for (const policy of policies) {
  exerciseChannel({
    title: `a fake messenger (${policy})`,
    first: { text: 'Hello' },
    second: { text: 'Hello again' },
    wrong: { text: 7 },
    shows: { first: 'Hello' },
    async open() {
      const clock = new ManualClock()
      const messenger = new FakeMessenger(clock)
      return {
        channel: messengerChannel(declarationOf(policy), messenger, clock),
        clock,
        target,
        there: () => messenger.messages.map(({ id, shows }) => ({ id, shows })),
        writes: () => messenger.requests.length,
        asked: () => messenger.requests.length,
        play: (fault) => void messenger.play(fault),
        close: async () => undefined,
      }
    },
  })
}

exercisePublishing('SQLite', openInMemory, policies.map(published))
exercisePublishing('PostgreSQL', openOnPostgres, policies.map(published))

describe('a message to an address', () => {
  let world: PublisherWorld<MessengerReceiver>
  beforeEach(async () => {
    world = await PublisherWorld.open(openInMemory, receiverOf('resend'))
  })
  afterEach(() => world.close())

  it('belongs to no run, subject or repository', async () => {
    const { delivery, already } = await world.store.outbox.send(message('north/ann'))
    expect(already).toBe(false)
    const nobody = { runId: null, subjectId: null, repositoryId: null, address: 'north/ann' }
    expect(delivery).toMatchObject({ kind: 'message', ...nobody })
    await world.pass(minute)
    expect(world.receiver.messenger.messages).toMatchObject([{ to: 'north/ann', shows: 'Hello' }])
    const backlog = await world.store.outbox.backlog()
    expect(backlog).toMatchObject({ oldestAt: null, failed: 0 })
  })

  it('is the same message when it is requested again, and unique under its key', async () => {
    const first = await world.store.outbox.send(message('north/ann'))
    const again = await world.store.outbox.send(message('north/ann'))
    expect(again).toMatchObject({ already: true, delivery: { id: first.delivery.id } })
    const other = rejectionOf(world.store.outbox.send(message('north/ann', 'Goodbye')))
    expect(await other).toMatchObject({ code: 'content_differs' })
    await world.store.outbox.send(message('north/bob', 'Goodbye'))
    await world.pass(minute)
    expect(world.receiver.messenger.messages.map(({ to }) => to).toSorted()).toEqual([
      'north/ann',
      'north/bob',
    ])
  })

  it('waits for a limit of its own identity, and of no other', async () => {
    const { messenger } = world.receiver
    await world.store.outbox.send(message('north/ann'))
    messenger.play('limit')
    await world.turn()
    await world.store.outbox.send(message('north/bob'))
    await world.store.outbox.send(message('south/eve'))
    await world.pass((limitSeconds - 1) * second)
    expect(messenger.messages.map(({ to }) => to)).toEqual(['south/eve'])
    const budgets = await world.store.outbox.budgets()
    const blocked = budgets.filter(({ blockedUntil }) => blockedUntil !== null)
    expect(blocked.map(({ identity }) => identity)).toEqual(['messenger:north'])
    await world.pass(minute)
    expect(messenger.messages).toHaveLength(3)
  })

  it('is refused on a channel that has no addresses', async () => {
    const wrong = { ...message('north/ann'), channel: 'github-comment' }
    expect(await rejectionOf(world.store.outbox.send(wrong))).toMatchObject({ code: 'no_place' })
  })
})

it('a process that does not know a channel leaves its messages to one that does', async () => {
  const withBoth: OpenStore = (machine) =>
    openInMemory({ ...machine, channels: [...githubDeclarations, declarationOf('hold')] })
  const world = await PublisherWorld.open(withBoth, receiverOf('hold', false))
  const { delivery } = await world.store.outbox.send(message('north/ann'))
  await world.pass(hour)
  const kept = await world.store.outbox.delivery(delivery.id)
  expect(kept).toMatchObject({ status: 'PENDING', errorCode: 'no_channel', tries: 0 })
  expect(kept!.dueAt! - world.store.now()).toBeLessThanOrEqual(30 * second)
  const skipped = await world.store.outbox.skip(delivery.id, 'not any more', 'ann', null)
  expect(skipped.status).toBe('SKIPPED')
  expect(world.errors).toEqual([])
  await world.close()
})
