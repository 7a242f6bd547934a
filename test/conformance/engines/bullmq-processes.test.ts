/**
 * Goal: several processes, also of several installations, share one Redis.
 * Method: several engines on a private Redis; processes that are killed are real ones.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../scenarios/until.ts'
import { RedisServer } from '../../redis/server.ts'
import { newStoreId, openEngine, stopEngines } from './bullmq-engines.ts'
import { TestListener, untilQuiet, untilWorking, wakeUp } from './engine-listener.ts'
import { EngineProcess } from './engine-process.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await RedisServer.start()
})
afterAll(() => redis.stop())
afterEach(stopEngines)

async function listening(storeId: string, types = ['review'], listener = new TestListener()) {
  const engine = openEngine(redis.url, storeId)
  engine.listen(types, listener)
  await untilWorking(engine)
  return { engine, listener }
}

async function announcing(storeId: string) {
  const engine = openEngine(redis.url, storeId)
  await untilWorking(engine)
  return engine
}

const keysOf = async (storeId: string): Promise<readonly string[]> =>
  (await redis.run('KEYS', `*${storeId}*`)) as string[]

describe('a wake-up', () => {
  it('reaches one of the processes that listen for its type', async () => {
    const storeId = newStoreId()
    const places = await Promise.all([listening(storeId), listening(storeId), listening(storeId)])
    const announcer = await announcing(storeId)
    const ids = Array.from({ length: 300 }, (_, at) => `run_${at}`)
    announcer.announce(ids.map((id) => wakeUp(id)))
    const heard = (): string[] => places.flatMap(({ listener }) => listener.runIds)
    await until(
      async () => heard(),
      (all) => all.length >= ids.length,
    )
    expect(heard().toSorted()).toEqual(ids.toSorted())
    for (const { listener } of places) expect(listener.runIds.length).toBeGreaterThan(0)
  })

  it('goes to another process if the first is paused', async () => {
    const storeId = newStoreId()
    const [paused, free] = await Promise.all([listening(storeId), listening(storeId)])
    const announcer = await announcing(storeId)
    for (let at = 0; at < 20; at++) {
      paused.engine.pause('review')
      announcer.announce([wakeUp(`run_${at}`)])
      await free.listener.heard(`run_${at}`)
      paused.engine.resume('review')
    }
    expect(paused.listener.runIds).toEqual([])
  })

  it('that nobody listens for leaves nothing in Redis', async () => {
    const storeId = newStoreId()
    const { engine, listener } = await listening(storeId)
    engine.announce([wakeUp('run_1', 'remote'), wakeUp('run_2', 'review')])
    await untilQuiet(engine, listener, 'review')
    expect((await keysOf(storeId)).filter((key) => key.includes('remote'))).toEqual([])
  })

  it('leaves no job behind', async () => {
    const storeId = newStoreId()
    const { engine, listener } = await listening(storeId)
    engine.announce([wakeUp('run_1'), wakeUp('run_2')])
    await untilQuiet(engine, listener, 'review')
    await until(
      () => keysOf(storeId),
      (keys) => keys.every((key) => !key.includes('run_')),
    )
  })

  it('of a process that was killed in the middle goes to another one', async () => {
    const storeId = newStoreId()
    const child = new EngineProcess(redis.url, storeId, ['review'])
    await child.untilHealthIs(true)
    child.tell('stick')
    const announcer = await announcing(storeId)
    announcer.announce([wakeUp('run_1')])
    await child.said('heard run_1')
    await child.kill()
    const { listener } = await listening(storeId)
    await listener.heard('run_1')
  }, 60_000)
})

describe('the word about lost runs', () => {
  it('reaches every other process once, and the own listener once', async () => {
    const storeId = newStoreId()
    const child = new EngineProcess(redis.url, storeId, ['review'])
    const [one, other] = await Promise.all([listening(storeId), listening(storeId, [])])
    await child.untilHealthIs(true)
    one.engine.announceLost(['run_1', 'run_2'])
    await other.listener.heardLost('run_2')
    await child.said('lost run_1,run_2')
    child.tell('lost run_3')
    for (const { listener } of [one, other]) {
      await listener.heardLost('run_3')
      expect(listener.lost).toEqual(['run_1', 'run_2', 'run_3'])
    }
    await child.kill()
  })

  it('may be about very many runs', async () => {
    const storeId = newStoreId()
    const [one, other] = await Promise.all([listening(storeId), listening(storeId, [])])
    const ids = Array.from({ length: 1234 }, (_, at) => `run_${at}`)
    one.engine.announceLost(ids)
    await other.listener.heardLost('run_1233')
    expect(other.listener.lost).toEqual(ids)
  })

  it.each(['', 'null', '[]', '{"runs":7}', '{"runs":[1,null]}', '{'])(
    'is ignored if it is %s',
    async (text) => {
      const storeId = newStoreId()
      const { engine, listener } = await listening(storeId)
      await redis.run('PUBLISH', `holdfast:${storeId}:lost`, text)
      engine.announceLost(['run_1'])
      await listener.heardLost('run_1')
      expect(listener.lost).toEqual(['run_1'])
    },
  )
})

it('two installations on one Redis do not meet', async () => {
  const [one, other] = await Promise.all([listening(newStoreId()), listening(newStoreId())])
  for (const { engine } of [one, other]) {
    engine.announce([wakeUp('run_1')])
    engine.announceLost(['run_2'])
  }
  for (const { engine, listener } of [one, other]) {
    await listener.heardLost('run_2')
    await untilQuiet(engine, listener, 'review')
    expect(listener.runIds.filter((id) => id === 'run_1')).toHaveLength(1)
    expect(listener.lost).toEqual(['run_2'])
  }
})

it('a process ends by itself after it was stopped', async () => {
  const child = new EngineProcess(redis.url, newStoreId(), ['review', 'docs', 'agent/plan'])
  await child.untilHealthIs(true)
  child.tell('stop')
  expect(await child.ended).toEqual([0, null])
  expect([child.lines.at(-1), child.stderr]).toEqual(['stopped', ''])
})
