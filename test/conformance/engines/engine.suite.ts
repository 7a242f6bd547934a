/**
 * The engines' conformance suite: whatever carries its hints, an engine behaves like this inside
 * one process. What is true only of an engine that reaches other processes is in the tests of that
 * engine.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { waitingMax, type Engine } from '../../../src/engine.ts'
import { until } from '../../scenarios/until.ts'
import { printLatency } from './latency.ts'
import { TestListener, timed, untilQuiet, untilWorking, wakeUp } from './engine-listener.ts'

/** Opens an engine that nobody else uses. */
export type OpenEngine = () => Promise<Engine>

const odd = 'agent/plan%3A v1.2'

export function exerciseEngine(name: string, open: OpenEngine): void {
  describe(`the engine ${name}`, () => {
    let engine: Engine
    let listener: TestListener

    async function listen(types: readonly string[], given = new TestListener()): Promise<void> {
      listener = given
      engine.listen(types, listener)
      await untilWorking(engine)
    }

    beforeEach(async () => {
      engine = await open()
    })
    afterEach(() => engine.stop())

    it('has its name, and says that it works and what waits', async () => {
      await listen(['review', 'docs.build'])
      const health = await engine.health()
      expect(health).toMatchObject({ name, ok: true, remedy: null, warnings: [] })
      expect(health.detail).not.toBe('')
      expect(health.waiting).toMatchObject({ review: 0, 'docs.build': 0 })
    })

    it('hands a wake-up to the listener, with run, fence and type', async () => {
      await listen(['review'])
      engine.announce([{ runId: 'run_0abc', fence: 4711, type: 'review' }])
      await listener.heard('run_0abc')
      expect(listener.wakeUps).toEqual([{ runId: 'run_0abc', fence: 4711, type: 'review' }])
    })

    it('calls the listener after the announcer has finished', async () => {
      await listen(['review'])
      engine.announce([wakeUp('run_1')])
      engine.announceLost(['run_2'])
      expect([...listener.runIds, ...listener.lost]).toEqual([])
      await listener.heard('run_1')
      await listener.heardLost('run_2')
    })

    it('keeps a wake-up for which there is no slot, and hands it over later', async () => {
      const isFull = new TestListener(async ({ runId }) => {
        if (runId !== 'run_1' || isFull.wakeUps.length > 1) return 'looked'
        engine.pause('review')
        return 'full'
      })
      await listen(['review', 'docs'], isFull)
      engine.announce([wakeUp('run_1')])
      await listener.heard('run_1')
      await untilQuiet(engine, listener, 'docs')
      const times = () => listener.runIds.filter((id) => id === 'run_1').length
      expect(times()).toBe(1)
      engine.resume('review')
      await until(
        async () => times(),
        (count) => count === 2,
      )
    })

    it('takes only the types that the process listens for', async () => {
      await listen(['review'])
      engine.announce([wakeUp('run_1', 'docs'), wakeUp('run_2', 'review')])
      await untilQuiet(engine, listener, 'review')
      expect(listener.runIds).not.toContain('run_1')
      expect(listener.runIds).toContain('run_2')
    })

    it('keeps types apart whose names differ in odd characters alone', async () => {
      const types = ['docs.build', 'docs-build', 'docs_build', 'docs', 'agent/plan', odd]
      await listen(types)
      engine.announce(types.map((type, at) => wakeUp(`run_${at}`, type)))
      for (const at of types.keys()) await listener.heard(`run_${at}`)
      const heard = listener.wakeUps.toSorted((a, b) => (a.runId < b.runId ? -1 : 1))
      expect(heard.map(({ type }) => type)).toEqual(types)
    })

    it('may be told the same twice', async () => {
      await listen(['review', 'docs'])
      engine.pause('review')
      const same = wakeUp('run_1')
      engine.announce([same, same])
      engine.announce([same])
      await untilQuiet(engine, listener, 'docs')
      engine.resume('review')
      await listener.heard('run_1')
      await untilQuiet(engine, listener, 'review')
      expect(listener.runIds.filter((id) => id === 'run_1')).toHaveLength(1)
      engine.announce([same])
      await untilQuiet(engine, listener, 'review')
      expect(listener.runIds.filter((id) => id === 'run_1')).toHaveLength(2)
    })

    it('holds a type back while it is paused, and only that type', async () => {
      await listen(['review', 'docs'])
      engine.pause('review')
      engine.announce([wakeUp('run_1', 'review'), wakeUp('run_2', 'docs')])
      await listener.heard('run_2')
      await untilQuiet(engine, listener, 'docs')
      expect(listener.runIds).not.toContain('run_1')
      engine.resume('review')
      await listener.heard('run_1')
    })

    it('takes nothing more after a pause during a wake-up', async () => {
      await listen(['review', 'docs'], new TestListener(async () => engine.pause('review')))
      engine.announce([wakeUp('run_1'), wakeUp('run_2')])
      await listener.heard('run_1')
      await untilQuiet(engine, listener, 'docs')
      expect(listener.runIds).not.toContain('run_2')
      engine.resume('review')
      await listener.heard('run_2')
    })

    it('lets a pause and a resume follow each other at any time', async () => {
      await listen(['review'])
      for (let at = 0; at < 20; at++) {
        engine.pause('review')
        engine.announce([wakeUp(`run_${at}`)])
        engine.resume('review')
      }
      for (let at = 0; at < 20; at++) await listener.heard(`run_${at}`)
    })

    it('ignores a pause of a type that the process does not listen for', async () => {
      await listen(['review'])
      engine.pause('docs')
      engine.resume('docs')
      engine.announce([wakeUp('run_1')])
      await listener.heard('run_1')
    })

    it('hands over one wake-up of a type at a time, and types do not wait for others', async () => {
      const held = Promise.withResolvers<void>()
      const work = new TestListener(({ type }) =>
        type === 'docs' ? held.promise : Promise.resolve(),
      )
      await listen(['review', 'docs'], work)
      engine.announce([wakeUp('run_1', 'docs'), wakeUp('run_2', 'docs')])
      await listener.heard('run_1')
      engine.announce([wakeUp('run_3', 'review')])
      await listener.heard('run_3')
      await untilQuiet(engine, listener, 'review')
      expect(listener.runIds).not.toContain('run_2')
      held.resolve()
      await listener.heard('run_2')
      expect(listener.busiest).toEqual(
        new Map([
          ['docs', 1],
          ['review', 1],
        ]),
      )
    })

    it('tells its own listener about lost runs', async () => {
      await listen([])
      engine.announceLost([])
      engine.announceLost(['run_1', 'run_2'])
      await listener.heardLost('run_2')
      expect(listener.lost).toEqual(['run_1', 'run_2'])
    })

    it('delivers 1,000 announcements', async () => {
      await listen(['review'])
      const ids = Array.from({ length: 1000 }, (_, at) => `run_${at}`)
      engine.announce(ids.map((id) => wakeUp(id)))
      for (const id of ids) await listener.heard(id)
      expect(listener.runIds.toSorted()).toEqual(ids.toSorted())
    })

    it('keeps no more than a bounded number of wake-ups', async () => {
      await listen(['review', 'docs'])
      engine.pause('review')
      for (let round = 0; round < 3; round++) {
        const ids = Array.from({ length: waitingMax }, (_, at) => `run_${round}x${at}`)
        engine.announce(ids.map((id) => wakeUp(id)))
        await untilQuiet(engine, listener, 'docs')
      }
      const { waiting } = await engine.health()
      expect(waiting['review']).toBe(waitingMax)
    })

    it('stops within 2 seconds, and its listener hears nothing afterwards', async () => {
      const held = Promise.withResolvers<void>()
      await listen(['review'], new TestListener(() => held.promise))
      engine.announce([wakeUp('run_1'), wakeUp('run_2')])
      await listener.heard('run_1')
      expect(await timed(() => engine.stop())).toBeLessThan(2000)
      held.resolve()
      engine.announce([wakeUp('run_3')])
      engine.announceLost(['run_4'])
      engine.pause('review')
      engine.resume('review')
      expect(await timed(() => engine.health())).toBeLessThan(2000)
      await engine.stop()
      expect([listener.runIds, listener.lost]).toEqual([['run_1'], []])
    })

    it('can be stopped when nobody listens', async () => {
      engine.announce([wakeUp('run_1')])
      engine.announceLost(['run_1'])
      expect(await timed(() => engine.stop())).toBeLessThan(2000)
    })

    it('wakes up quickly (printed, not checked)', async () => {
      await listen(['review'])
      await printLatency(name, engine, listener)
    })
  })
}
