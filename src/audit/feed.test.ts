import { beforeEach, expect, it } from 'vitest'
import { pino } from 'pino'
import type { AuditRow } from '../domain/audit.ts'
import type { Scheduler } from '../scheduler.ts'
import type { AuditFilter } from '../store.ts'
import { createAuditFeed, type AuditFeed, type AuditNews } from './feed.ts'

/** Timers that the test fires. */
class ManualScheduler implements Scheduler {
  readonly timers = new Map<object, { readonly ms: number; readonly task: () => void }>()
  soon = (task: () => void): void => task()
  after = (ms: number, task: () => void): (() => void) => {
    const key = {}
    this.timers.set(key, { ms, task })
    return () => void this.timers.delete(key)
  }
  afterInBackground = this.after

  waiting(ms: number): number {
    return [...this.timers.values()].filter((timer) => timer.ms === ms).length
  }

  fire(ms: number): void {
    for (const [key, timer] of [...this.timers]) {
      if (timer.ms !== ms) continue
      this.timers.delete(key)
      timer.task()
    }
  }
}

const row = (order: number, runId = 'r'): AuditRow => ({
  id: order,
  causeId: null,
  order,
  at: 0,
  type: 'run.claimed',
  actor: 'a',
  runId,
  data: {},
})

let scheduler: ManualScheduler
let rows: AuditRow[]
let looks: number
let isAway: boolean
let logged: string[]
let feed: AuditFeed
/** How many rows the store returns at once, because they are large. */
let rowsMax: number

beforeEach(() => {
  scheduler = new ManualScheduler()
  ;[rows, looks, isAway, logged, rowsMax] = [[], 0, false, [], 1000]
  const log = pino({}, { write: (line: string) => void logged.push(line) })
  const store = {
    audit: {
      latestOrder: async () => {
        looks++
        if (isAway) throw new Error('away')
        return rows.at(-1)?.order ?? 0
      },
      after: async (order: number, { runId }: AuditFilter, limit: number) => {
        if (isAway) throw new Error('away')
        const after = rows.filter((one) => one.order > order)
        const found = after.filter((one) => runId === undefined || one.runId === runId)
        const most = Math.min(limit, rowsMax)
        return { rows: found.slice(0, most), more: found.length > most }
      },
    },
  }
  feed = createAuditFeed({ store, scheduler, log })
})

const lookMs = 250
const quietMs = 15_000
const againMs = 1000

async function follow(after: number | null, filter: AuditFilter = {}) {
  const stop = new AbortController()
  const news = await feed.follow({ after, filter, signal: stop.signal })
  const next = async (): Promise<AuditNews | undefined> => {
    const { value, done } = await news.next()
    return done === true ? undefined : value
  }
  return { next, stop: () => stop.abort() }
}

const orders = (news: AuditNews | undefined) => news?.rows.map(({ order }) => order)

/** Lets started work reach the point where it waits for a timer. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

async function look(): Promise<void> {
  await settle()
  scheduler.fire(lookMs)
  await settle()
}

it('any number of followers share one look, and without followers there is no look', async () => {
  expect(scheduler.timers.size).toBe(0)
  const followers = await Promise.all([follow(0), follow(0), follow(0)])
  await Promise.all(followers.map(({ next }) => next()))
  const waiting = followers.map(({ next }) => next())
  rows.push(row(1))
  expect(scheduler.waiting(lookMs)).toBe(1)
  await look()
  expect(looks).toBe(1)
  expect((await Promise.all(waiting)).map(orders)).toEqual([[1], [1], [1]])
  const ends = followers.map(({ next }) => next())
  followers.forEach(({ stop }) => stop())
  expect(await Promise.all(ends)).toEqual([undefined, undefined, undefined])
  expect(scheduler.timers.size).toBe(0)
})

it('a backlog comes in pages, without a look between them', async () => {
  rows.push(...Array.from({ length: 250 }, (_, i) => row(i + 1)))
  const { next, stop } = await follow(0)
  expect(await next()).toEqual({ rows: [], order: 0 })
  const pages = [await next(), await next(), await next()]
  expect(pages.map((page) => page?.rows.length)).toEqual([100, 100, 50])
  expect(pages.flatMap(orders)).toEqual(rows.map(({ order }) => order))
  expect(looks).toBe(0)
  stop()
})

it('large rows come in smaller pages, and no row is left out', async () => {
  rowsMax = 2
  rows.push(...Array.from({ length: 5 }, (_, i) => row(i + 1)))
  const { next, stop } = await follow(0)
  await next()
  await look()
  const pages = [await next(), await next(), await next()]
  expect(pages.map(orders)).toEqual([[1, 2], [3, 4], [5]])
  stop()
})

it('a follower without a position begins after the existing rows', async () => {
  rows.push(row(1), row(2))
  const { next, stop } = await follow(null)
  expect(await next()).toEqual({ rows: [], order: 2 })
  const later = next()
  rows.push(row(3))
  await look()
  expect(orders(await later)).toEqual([3])
  stop()
})

it('in a quiet time a follower gets the position, past rows that its filter skips', async () => {
  const { next, stop } = await follow(0, { runId: 'mine' })
  await next()
  const news = next()
  rows.push(row(1, 'other'), row(2, 'other'))
  await look()
  scheduler.fire(quietMs)
  expect(await news).toEqual({ rows: [], order: 2 })
  const mine = next()
  rows.push(row(3, 'mine'))
  await look()
  expect(orders(await mine)).toEqual([3])
  stop()
})

it('a store that is down is logged once, and no row is lost', async () => {
  const { next, stop } = await follow(0)
  await next()
  isAway = true
  const news = next()
  await look()
  await look()
  rows.push(row(1))
  isAway = false
  scheduler.fire(againMs)
  expect(orders(await news)).toEqual([1])
  expect(logged).toHaveLength(1)
  stop()
})
