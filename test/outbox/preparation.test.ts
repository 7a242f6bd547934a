/**
 * Goal: a delivery that cannot be prepared fails visibly and delays no other, also if it ends the
 * process.
 * Method: the real publisher's step with a channel of the test, on a real store with a clock that
 * the test moves.
 */
import { pino } from 'pino'
import { afterEach, expect, it } from 'vitest'
import type { Admission, Channel } from '../../src/channel.ts'
import { channelsByName } from '../../src/channels/github-channels.ts'
import { StoreUnavailableError } from '../../src/errors.ts'
import { Slots } from '../../src/outbox/slots.ts'
import { publishOne } from '../../src/outbox/publish-one.ts'
import { createOneAtATime, type PublishingParts } from '../../src/outbox/publishing-parts.ts'
import type { World } from './world.ts'
import { minute, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const never = (): Promise<never> => new Promise(() => undefined)

/** Leases the due delivery and makes its next step. Does not wait for a step that hangs. */
async function step(
  here: World,
  prepare: () => Promise<unknown>,
  { admission, ...given }: Partial<PublishingParts> & Pick<Channel, 'admission'> = {},
): Promise<boolean> {
  const { store, time } = here
  const [leased] = await here.act(store.outbox.lease({ limit: 1, progressMax: 1 }))
  if (leased === undefined) return false
  const declaration = channelsByName.of(leased.delivery.channel)
  const channel = { declaration, prepare, admission } as unknown as Channel
  const parts = {
    store,
    clock: time,
    channels: new Map([[leased.delivery.channel, channel]]),
    log: pino({ level: 'silent' }),
    oneAtATime: createOneAtATime(),
    ...given,
  } as unknown as PublishingParts
  const done = publishOne(parts, leased, { sendBy: Infinity, lookBy: Infinity })
  await Promise.race([done, time.pass(10 * second)])
  await time.pass(minute)
  return true
}

const opened = async (): Promise<World> => {
  const here = await openWorld({ announcement: { anchorPer: null } })
  world = here
  await here.act(
    here.store.repositories.learn(repo, here.github.repository(repo).id, 'now', 'test'),
  )
  await here.claim()
  return here
}

it.each([
  ['breaks off', 'preparation_failed', () => Promise.reject(new TypeError('a bug of ours'))],
  [
    'takes too long',
    'preparation_slow',
    async () => {
      await world?.time.pass(6 * second)
      return { hash: 'h', body: {} }
    },
  ],
])('a delivery whose preparation %s three times has failed', async (_how, code, prepare) => {
  const here = await opened()
  for (const preparations of [1, 2]) {
    expect(await step(here, prepare)).toBe(true)
    const waiting = { status: 'PENDING', errorCode: code, protocol: { preparations } }
    expect(await here.delivery('status')).toMatchObject(waiting)
  }
  await step(here, prepare)
  expect(await here.delivery('status')).toMatchObject({ status: 'FAILED', reason: code })
  expect(await step(here, prepare)).toBe(false)
})

it('a delivery whose preparation ends the process has failed after a few times', async () => {
  const here = await opened()
  const started: number[] = []
  const prepare = (): Promise<never> => {
    started.push(here.time.wallMs())
    return never()
  }
  while (started.length < 9 && (await step(here, prepare)));
  // The first crash cannot be foreseen. From then on each preparation is counted before it begins.
  expect(started).toHaveLength(4)
  const failed = { status: 'FAILED', reason: 'preparation_lost' }
  expect(await here.delivery('status')).toMatchObject(failed)
})

it('a delivery that was leased when another ended the process continues', async () => {
  const here = await opened()
  for (let lost = 0; lost < 5; lost += 1) {
    await here.act(here.store.outbox.lease({ limit: 1, progressMax: 1 }))
    await here.time.pass(minute)
  }
  here.startPublisher()
  await here.time.pass(5 * second)
  expect(await here.delivery('status')).toMatchObject({
    status: 'SENT',
    protocol: { looked: true },
  })
  expect((await here.delivery('status'))?.protocol).not.toHaveProperty('preparations')
})

it('a store that cannot be asked is not the fault of the delivery', async () => {
  const here = await opened()
  await step(here, () => Promise.reject(new StoreUnavailableError('store', 'away')))
  expect(await here.delivery('status')).toMatchObject({ status: 'PENDING', tries: 1 })
  expect((await here.delivery('status'))?.protocol).not.toHaveProperty('preparations')
})

it('a prepared delivery is not blamed for what ends the process after that', async () => {
  const here = await opened()
  const admission = { accountOf: () => 'a', lastIdentityOf: () => 'a', enter: never }
  const lost = () => ({ admission: admission as unknown as Admission, slots: new Slots() })
  const prepare = () => Promise.resolve({ hash: 'h', body: {} })
  for (let n = 0; n < 6; n += 1) expect(await step(here, prepare, lost())).toBe(true)
  expect(await here.delivery('status')).toMatchObject({ status: 'PENDING' })
})

it('of several lost together, only the one that ends the process is begun', async () => {
  const carefully = createOneAtATime()
  const begun: string[] = []
  void carefully(() => {
    begun.push('ends the process')
    return never()
  })
  void carefully(async () => void begun.push('innocent'))
  await Promise.resolve()
  await Promise.resolve()
  expect(begun).toEqual(['ends the process'])
})

it('lost deliveries continue one after the other, also after one that fails', async () => {
  const carefully = createOneAtATime()
  const failed = carefully(() => Promise.reject(new TypeError('a bug of ours')))
  const next = carefully(() => Promise.resolve('done'))
  await expect(failed).rejects.toThrow('a bug of ours')
  expect(await next).toBe('done')
})
