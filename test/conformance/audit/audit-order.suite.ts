/**
 * Goal: a reader that follows the audit, or pages through it, gets every row once, in the order of
 * commits, also while others write.
 */
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { AuditRow } from '../../../src/domain/audit.ts'
import type { AuditFilter, Store } from '../../../src/store.ts'
import { completion } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'

/** All rows after a position, read in pages. */
export async function followFrom(
  store: Store,
  start: number,
  limit: number,
  filter: AuditFilter = {},
): Promise<AuditRow[]> {
  const seen: AuditRow[] = []
  for (let after = start; ;) {
    const { rows, more } = await store.audit.after(after, filter, limit)
    seen.push(...rows)
    if (!more) return seen
    after = rows.at(-1)?.order ?? after
  }
}

export function auditOrder(open: OpenStore): void {
  const world = useWorld(open)
  const here = () => world().store.audit.latestOrder()

  it('is followed oldest first, page by page, from any row', async () => {
    const start = await here()
    const subject = new TestSubject(world())
    for (const name of ['a', 'b', 'c']) await subject.claim(name)
    const rows = await followFrom(world().store, start, 2)
    expect(rows.filter(({ type }) => type === 'run.claimed')).toHaveLength(3)
    const orders = rows.map(({ order }) => order)
    expect(orders).toEqual([...new Set(orders)].toSorted((a, b) => a - b))
    expect(Math.min(...orders)).toBeGreaterThan(start)
    expect(orders.at(-1)).toBe(await here())
    const middle = orders[1] ?? 0
    const remaining = await followFrom(world().store, middle, 100)
    expect(remaining.map(({ order }) => order)).toEqual(orders.slice(2))
  })

  it('has no row after the newest', async () => {
    await new TestSubject(world()).claim('a')
    expect(await world().store.audit.after(await here(), {}, 10)).toEqual({ rows: [], more: false })
  })

  it('comes in pages of 4 MB at most, and says when there is more', async () => {
    const start = await here()
    const mib = 1024 * 1024
    const subject = new TestSubject(world())
    for (const [name, size] of [
      ['a', 1.5 * mib],
      ['b', 1.5 * mib],
      ['c', 1.5 * mib],
      ['d', 5 * mib],
      ['e', 1],
    ] as const) {
      const failed = { errorCode: 'x'.repeat(size) }
      await world().store.runs.complete(
        completion(await subject.claim(name), 'failed', failed),
        null,
      )
    }
    const filter = { type: 'run.failed' } as const
    const pieces: AuditRow[][] = []
    for (let [after, isMore] = [start, true]; isMore;) {
      const { rows, more } = await world().store.audit.after(after, filter, 100)
      pieces.push([...rows])
      ;[after, isMore] = [rows.at(-1)?.order ?? after, more]
    }
    expect(pieces.map((rows) => rows.length)).toEqual([2, 1, 1, 1])
    expect(await followFrom(world().store, start, 100, filter)).toEqual(pieces.flat())
  })

  it('is the same in the list, whichever of the two is read first', async () => {
    const subject = new TestSubject(world())
    const start = await here()
    for (const name of ['a', 'b', 'c', 'd']) await subject.claim(name)
    const { items } = await world().store.audit.list({}, { limit: 3, cursor: null })
    const followed = await followFrom(world().store, start, 100)
    expect(items).toEqual(followed.slice(-3).toReversed())
  })

  it('can be filtered by run, by type and by time', async () => {
    const start = await here()
    const from = world().store.now()
    const subject = new TestSubject(world())
    for (const name of ['a', 'b', 'c']) {
      world().clock.move(1)
      await subject.claim(name)
    }
    const { id: runId } = await subject.run('b')
    const types = async (filter: AuditFilter) =>
      (await followFrom(world().store, start, 1, filter)).map(({ type }) => type)
    expect(await types({ runId })).toEqual(['run.claimed', 'run.superseded'])
    expect(await types({ type: 'run.superseded' })).toEqual(['run.superseded', 'run.superseded'])
    expect(await types({ type: 'run.claimed', since: from + 2, until: from + 3 })).toHaveLength(1)
  })

  it('is complete and without repeats for a follower while many write', async () => {
    const start = await here()
    const writing = Promise.all(
      Array.from({ length: 8 }, async () => {
        const subject = new TestSubject(world())
        for (const name of ['a', 'b', 'c', 'd', 'e']) await subject.claim(name)
      }),
    )
    const state = { isOver: false }
    void writing.finally(() => (state.isOver = true))
    const seen: number[] = []
    for (;;) {
      const { isOver } = state
      const fresh = await followFrom(world().store, seen.at(-1) ?? start, 3)
      seen.push(...fresh.map(({ order }) => order))
      if (isOver) break
      // A read of SQLite does not yield to the event loop, which the writers need.
      await setImmediate()
    }
    await writing
    const all = await followFrom(world().store, start, 1000)
    expect(seen).toEqual(all.map(({ order }) => order))
    expect(seen.length).toBeGreaterThanOrEqual(8 * 9)
  })

  it('continues above the last number after the newest rows are purged', async () => {
    const subject = new TestSubject(world())
    await subject.putInState('a', 'succeeded')
    const before = await here()
    world().clock.move(1000)
    const limits = { finishedMs: 1e12, supersededMs: 1e12, eventMs: 1e12, auditMs: 0 }
    while ((await world().store.upkeep.purge(limits, 'test')).more);
    expect(await followFrom(world().store, 0, 100)).toEqual([])
    await subject.claim('b')
    const { rows } = await world().store.audit.after(before, {}, 1)
    expect(rows[0]?.type).toBe('run.claimed')
  })
}
