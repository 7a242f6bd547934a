/**
 * Goal: noting a restore of a large store survives a cut-off at any statement, needs no long
 * transaction, and nothing is sent before it is complete.
 * Method: more deliveries are open than one batch takes, and the noting is cut off at some
 * statement.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { Driver } from '../../../src/stores/driver.ts'
import { holderOf } from '../claims.ts'
import { eitherDatabase, useCutOffStore } from '../cut-off-store.ts'
import { ManualPublisher } from './manual-publisher.ts'
import { onlyStatus } from './outbox-world.ts'
import { TestSubject } from '../test-subject.ts'
import { second } from '../world.ts'

const open = 150

describe.each(eitherDatabase)('noting a restore on %s', (name, openDriver) => {
  // PostgreSQL needs fewer statements for the same work.
  const [inFirstBatch, inLastBatch] = name === 'SQLite' ? [10, 120] : [8, 20]
  let longest = 0
  const { world, cut } = useCutOffStore(openDriver, counting)
  beforeEach(async () => {
    await world.store.upkeep.recordMode('live')
    for (let n = 0; n < open; n += 1) {
      await new TestSubject(world, { announcement: onlyStatus }).claim('a')
    }
    longest = 0
  })

  /** The number of statements in the longest transaction. */
  function counting(driver: Driver): Driver {
    return {
      dialect: driver.dialect,
      now: () => driver.now(),
      read: (makeVerb) => driver.read(makeVerb),
      ping: () => driver.ping(),
      close: () => driver.close(),
      transact: (makeVerb, patienceMs) =>
        driver.transact(function* () {
          const verb = makeVerb()
          let step = verb.next()
          for (let count = 1; step.done !== true; count += 1) {
            longest = Math.max(longest, count)
            step = verb.next(yield step.value)
          }
          return step.value
        }, patienceMs),
    }
  }

  const all = async (): Promise<readonly Delivery[]> =>
    (await world.store.outbox.list({}, { limit: 1000, cursor: null })).items

  async function cutOff(statements: number): Promise<void> {
    cut.left = statements
    await expect(world.store.outbox.noteRestore()).rejects.toThrow()
    cut.left = -1
  }

  it('consists of short transactions', async () => {
    await world.store.outbox.noteRestore()
    expect((await all()).filter(({ wait }) => wait === 'in_doubt')).toHaveLength(open)
    expect(longest).toBeLessThan(open)
  })

  it.each([inFirstBatch, 15, inLastBatch])(
    'cut off at statement %d, is continued by the next process',
    async (statements) => {
      await cutOff(statements)
      const restoredAt = await world.store.outbox.knowsSince()
      await world.store.upkeep.recordMode('live')
      expect((await all()).filter(({ wait }) => wait === 'in_doubt')).toHaveLength(open)
      expect(await world.store.outbox.knowsSince()).toBe(restoredAt)
    },
  )

  it('cut off, lets no new message wait for one that has left the line', async () => {
    const silent = { ...onlyStatus, statusContext: null }
    const { runId, leaseHash } = holderOf(
      await new TestSubject(world, { announcement: silent }).claim('a'),
    )
    const publish = async (name: string): Promise<Delivery> => {
      const output = { name, channel: 'github-comment', content: { body: name } } as const
      const request = { runId, leaseHash, actor: 'test', ...output, rightsOf: () => allRights }
      return (await world.store.outbox.publish(request, null)).delivery
    }
    await publish('c1')
    await cutOff(inFirstBatch)
    world.clock.move(second)
    expect(await publish('c2')).toMatchObject({ wait: 'order' })
    await world.store.upkeep.recordMode('live')
    const publisher = new ManualPublisher(world)
    expect(await publisher.named(runId, 'c1')).toMatchObject({ wait: 'in_doubt', line: null })
    expect(await publisher.named(runId, 'c2')).toMatchObject({ wait: 'due' })
  })

  it('cut off, lets no delivery be leased before it is in doubt', async () => {
    await cutOff(20)
    for (let n = 0; n < 3; n += 1) {
      for (const { delivery } of await world.store.outbox.lease({ limit: 200, progressMax: 0 })) {
        expect(delivery.wait).toBe('in_doubt')
      }
    }
    expect((await all()).filter(({ protocol }) => protocol.restored !== undefined)).toHaveLength(
      open,
    )
  })
})
