import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { Scheduler } from '../../scheduler.ts'
import { systemScheduler } from '../../scheduler.ts'
import { UnverifiedBodies, type BodyLimits } from './unverified-bodies.ts'

const limits: BodyLimits = {
  bytesMax: 60,
  roomBytes: 100,
  keptForSmallBytes: 40,
  smallBytes: 10,
  waitMs: 1,
  readMs: 2,
}

/** Timers that the test fires. */
class ManualTimers implements Scheduler {
  readonly timers = new Map<object, { readonly ms: number; readonly task: () => void }>()
  readonly soon = (task: () => void) => systemScheduler.soon(task)
  readonly afterInBackground = (ms: number, task: () => void) =>
    systemScheduler.afterInBackground(ms, task)

  after(ms: number, task: () => void): () => void {
    const key = {}
    this.timers.set(key, { ms, task })
    return () => void this.timers.delete(key)
  }

  fire(ms: number): void {
    for (const [key, timer] of this.timers) {
      if (timer.ms !== ms) continue
      this.timers.delete(key)
      timer.task()
    }
  }
}

function room() {
  const timers = new ManualTimers()
  const bodies = new UnverifiedBodies(timers, limits)
  const begin = (bytes: number) => {
    const stream = new PassThrough()
    const read = bodies.read(stream)
    read.catch(() => undefined)
    if (bytes > 0) stream.write(Buffer.alloc(bytes))
    return { stream, read }
  }
  const used = async (bytes: number) =>
    await expect.poll(() => bodies.usedBytes, { interval: 1 }).toBe(bytes)
  return { timers, bodies, begin, used }
}

describe('bodies that are not verified yet', () => {
  test('share one limit of memory: the next one waits until another ends', async () => {
    const { timers, bodies, begin, used } = room()
    const first = begin(60)
    await used(60)
    const second = begin(30)
    await expect.poll(() => timers.timers.size, { interval: 1 }).toBe(3)
    expect(bodies.usedBytes).toBe(60)
    first.stream.end()
    const { body, release } = await first.read
    expect(body).toHaveLength(60)
    release()
    await used(30)
    second.stream.end()
    ;(await second.read).release()
    expect(bodies.usedBytes).toBe(0)
    expect(timers.timers.size).toBe(0)
  })

  test('that find no room in time must be sent again', async () => {
    const { timers, bodies, begin, used } = room()
    begin(60)
    await used(60)
    const second = begin(30)
    await expect.poll(() => timers.timers.size, { interval: 1 }).toBe(3)
    timers.fire(limits.waitMs)
    await expect(second.read).rejects.toMatchObject({ status: 503, code: 'busy' })
    expect(bodies.usedBytes).toBe(60)
    expect(second.stream.destroyed).toBe(false)
  })

  test('that are small find room even if large ones fill theirs', async () => {
    const { begin, used } = room()
    begin(60)
    await used(60)
    for (let n = 1; n <= 4; n += 1) {
      begin(10)
      await used(60 + 10 * n)
    }
  })

  test('that wait for each other’s room are not all lost: the last one is refused', async () => {
    const { begin, used } = room()
    const first = begin(30)
    await used(30)
    const second = begin(30)
    await used(60)
    first.stream.end(Buffer.alloc(20))
    second.stream.end(Buffer.alloc(20))
    await expect(second.read).rejects.toMatchObject({ status: 503, code: 'busy' })
    const { body, release } = await first.read
    expect(body).toHaveLength(50)
    release()
    await used(0)
  })

  test('use room only for arrived bytes, and give it back when the sender leaves', async () => {
    const { bodies, begin, used } = room()
    const { stream, read } = begin(20)
    await used(20)
    stream.destroy(new Error('gone'))
    const senders = { status: 400, code: 'bad_content_length' }
    await expect(read).rejects.toMatchObject(senders)
    expect(bodies.usedBytes).toBe(0)
  })

  test('that are too large or too slow are refused with an answer', async () => {
    const { timers, bodies, begin, used } = room()
    const large = begin(50)
    await used(50)
    large.stream.write(Buffer.alloc(11))
    await expect(large.read).rejects.toMatchObject({ status: 413 })
    const slow = begin(5)
    await used(5)
    timers.fire(limits.readMs)
    await expect(slow.read).rejects.toMatchObject({ status: 408 })
    expect([bodies.usedBytes, large.stream.destroyed, slow.stream.destroyed]).toEqual([
      ...[0, false, false],
    ])
  })
})
