/**
 * Goal: Redis may be stopped, frozen, emptied and replaced at any moment. Only hints are lost,
 * nothing waits for it, and everything comes back by itself.
 * Method: a private Redis to which exactly that is done.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../../src/engine.ts'
import { startRelay } from '../../chaos/relay.ts'
import { until } from '../../scenarios/until.ts'
import { RedisServer } from '../../redis/server.ts'
import { newStoreId, openEngine, stopEngines, type LogLine } from './bullmq-engines.ts'
import {
  TestListener,
  timed,
  untilBroken,
  untilQuiet,
  untilWorking,
  wakeUp,
} from './engine-listener.ts'
import { EngineProcess } from './engine-process.ts'

let redis: RedisServer
let storeId: string
let lines: LogLine[]
let engine: Engine
let listener: TestListener
beforeEach(async () => {
  redis = await RedisServer.start()
  storeId = newStoreId()
  lines = []
  engine = openEngine(redis.url, storeId, lines)
  listener = new TestListener()
})
afterEach(async () => {
  redis.unfreeze()
  await stopEngines()
  await redis.stop()
})

async function listening(): Promise<void> {
  engine.listen(['review', 'docs'], listener)
  await untilWorking(engine)
}

/** Announces again and again, because what is announced during an outage is lost. */
async function untilHeard(runId: string): Promise<void> {
  await until(
    async () => {
      engine.announce([wakeUp(runId)])
      return listener.runIds
    },
    (ids) => ids.includes(runId),
  )
}

const logged = (level: string): number => lines.filter((line) => line.level === level).length

describe('while Redis is stopped', () => {
  it('announcing returns at once, and works again afterwards', async () => {
    await listening()
    await redis.stop()
    await untilBroken(engine)
    const took = await timed(async () => {
      for (let at = 0; at < 1000; at++) engine.announce([wakeUp(`run_${at}`)])
      engine.announceLost(['run_1'])
    })
    expect(took).toBeLessThan(200)
    await listener.heardLost('run_1')
    await redis.startAgain()
    await untilHeard('run_back')
    // It was announced more than once, perhaps.
    expect([...new Set(listener.runIds)]).toEqual(['run_back'])
  })

  it('each outage is one warning and one line when it is over', async () => {
    await listening()
    expect(lines).toEqual([])
    for (let outage = 1; outage <= 2; outage++) {
      await redis.stop()
      await untilBroken(engine)
      // Connections are tried several times meanwhile.
      await until(
        () => engine.health(),
        ({ detail }) => detail.includes('ECONNREFUSED'),
      )
      await redis.startAgain()
      await untilHeard(`run_${outage}`)
      expect([logged('warn'), logged('info')]).toEqual([outage, outage])
    }
    expect(lines[0]?.text).toMatch(/^The queue cannot be used: .*\. Until it works again, runs /)
    expect(lines[1]?.text).toBe('The queue works again')
    expect(lines).toHaveLength(4)
  })

  it('an engine can be opened, examined and stopped, each within 2 seconds', async () => {
    await redis.stop()
    const other = openEngine(redis.url, storeId)
    other.listen(['review'], new TestListener())
    expect(await timed(() => other.health())).toBeLessThan(2000)
    expect(await other.health()).toMatchObject({
      ok: false,
      detail: expect.stringContaining(`at 127.0.0.1:${redis.port} (ECONNREFUSED)`) as string,
      remedy: expect.stringContaining('HOLDFAST_QUEUE_URL') as string,
    })
    expect(await timed(() => other.stop())).toBeLessThan(2000)
  })

  it('an engine that was opened before Redis works as soon as Redis does', async () => {
    await redis.stop()
    engine.listen(['review'], listener)
    await untilBroken(engine)
    await redis.startAgain()
    await untilHeard('run_1')
  })
})

describe('while Redis is frozen', () => {
  it('nothing waits, and everything works again afterwards', async () => {
    await listening()
    redis.freeze()
    expect(await timed(() => engine.health())).toBeLessThan(2000)
    expect(await engine.health()).toMatchObject({
      ok: false,
      detail: expect.stringContaining('does not answer in time') as string,
      waiting: { review: null, docs: null },
    })
    const took = await timed(async () => {
      for (let at = 0; at < 1000; at++) engine.announce([wakeUp(`run_${at}`)])
      engine.announceLost(['run_1'])
    })
    expect(took).toBeLessThan(200)
    await listener.heardLost('run_1')
    await until(
      async () => logged('warn'),
      (count) => count === 1,
    )
    expect(lines[0]?.text).toContain('does not answer in time')
    redis.unfreeze()
    await untilHeard('run_back')
    expect([logged('warn'), logged('info')]).toEqual([1, 1])
  })

  it('it stops within 2 seconds', async () => {
    await listening()
    redis.freeze()
    engine.announce([wakeUp('run_1')])
    expect(await timed(() => engine.stop())).toBeLessThan(2000)
  })
})

describe('when Redis is emptied', () => {
  it('a wake-up that waited is lost, and the next one is not', async () => {
    await listening()
    engine.pause('review')
    engine.announce([wakeUp('run_1')])
    await untilQuiet(engine, listener, 'docs')
    expect((await engine.health()).waiting).toEqual({ review: 1, docs: 0 })
    await redis.run('FLUSHALL')
    engine.resume('review')
    await untilQuiet(engine, listener, 'review')
    expect(listener.runIds).not.toContain('run_1')
    expect(lines).toEqual([])
  })

  it('a wake-up in hand ends as if nothing had happened', async () => {
    const held = Promise.withResolvers<void>()
    listener = new TestListener(({ runId }) =>
      runId === 'run_1' ? held.promise : Promise.resolve(),
    )
    await listening()
    engine.announce([wakeUp('run_1')])
    await listener.heard('run_1')
    await redis.run('FLUSHALL')
    held.resolve()
    engine.announce([wakeUp('run_2')])
    await listener.heard('run_2')
    expect([lines, (await engine.health()).ok]).toEqual([[], true])
  })

  it('again and again during work, it goes on', async () => {
    await listening()
    for (let at = 0; at < 30; at++) {
      engine.announce(Array.from({ length: 20 }, (_, n) => wakeUp(`run_${at}x${n}`)))
      await redis.run('FLUSHALL')
    }
    await untilHeard('run_last')
    expect(lines).toEqual([])
  })
})

it('when Redis hands over to another one, everything follows', async () => {
  await stopEngines()
  const [relay, next] = await Promise.all([startRelay(), RedisServer.start()])
  relay.aim(redis.url)
  engine = openEngine(relay.url(redis.url), storeId, lines)
  await listening()
  engine.announce([wakeUp('run_1')])
  await listener.heard('run_1')
  // The old one keeps its connections and refuses writes, as after a failover.
  await redis.run('REPLICAOF', '127.0.0.1', String(next.port))
  relay.aim(next.url)
  await untilHeard('run_2')
  await untilQuiet(engine, listener, 'docs')
  expect([logged('warn'), logged('info')]).toEqual([1, 1])
  const clients = String(await redis.run('CLIENT', 'LIST', 'TYPE', 'normal')).match(
    /name=holdfast/g,
  )
  expect(clients).toBeNull()
  await engine.stop()
  await relay.close()
  await next.stop()
}, 60_000)

describe('a process of its own', () => {
  it.each([
    ['stopped', () => redis.stop()],
    ['frozen', async () => redis.freeze()],
  ])('ends by itself after a stop while Redis is %s', async (_how, disturb) => {
    const child = new EngineProcess(redis.url, storeId, ['review', 'docs', 'agent'])
    await child.untilHealthIs(true)
    await disturb()
    child.tell('announce run_1')
    child.tell('stop')
    expect(await child.ended).toEqual([0, null])
    expect([child.lines.at(-1), child.stderr]).toEqual(['stopped', ''])
  })

  it('survives a Redis that comes and goes', async () => {
    const child = new EngineProcess(redis.url, storeId, ['review', 'docs', 'agent'])
    await child.untilHealthIs(true)
    for (let round = 0; round < 3; round++) {
      child.tell('flood 100')
      await redis.stop()
      child.tell('flood 100')
      await redis.startAgain()
      child.tell('flood 100')
      redis.freeze()
      child.tell('flood 100')
      await child.untilHealthIs(false)
      redis.unfreeze()
      await child.untilHealthIs(true)
    }
    child.tell('announce run_last')
    await child.said('heard run_last')
    child.tell('stop')
    expect([await child.ended, child.stderr]).toEqual([[0, null], ''])
  }, 120_000)

  it.each([
    ['stopped', () => redis.stop()],
    ['frozen', async () => redis.freeze()],
  ])(
    'keeps little in memory while Redis is %s',
    async (_how, disturb) => {
      const child = new EngineProcess(redis.url, storeId, ['type1'])
      await child.untilHealthIs(true)
      await disturb()
      // Fewer than Redis would have to be noticed as frozen.
      child.tell('flood 100000')
      const grown = await until(
        async () => child.lines.find((line) => line.startsWith('grown ')),
        (line) => line !== undefined,
      )
      await child.kill()
      expect(Number(grown?.slice('grown '.length))).toBeLessThan(15)
    },
    60_000,
  )
})
