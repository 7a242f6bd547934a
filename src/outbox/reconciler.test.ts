// Goal: one pass of the reconciler closes forgotten outputs and reports each problem once.
import { beforeEach, expect, it } from 'vitest'
import type { Log } from '../log.ts'
import type { OutboxBacklog } from '../store/outbox-store.ts'
import { systemScheduler } from '../scheduler.ts'
import { createReconciler } from './reconciler.ts'

const minuteMs = 60_000
const nothing: OutboxBacklog = {
  open: { due: 0, order: 0, leased: 0, backoff: 0, budget: 0, in_doubt: 0, held: 0, no_address: 0 },
  oldestAt: null,
  oldest: [],
  failed: 0,
  oldestFailed: [],
  unreported: [],
  unreportedCount: 0,
}

let now: number
let backlog: OutboxBacklog
let forgotten: number
let batchesLeft: number
let lines: string[]
beforeEach(() => {
  now = 1_000_000_000
  backlog = nothing
  forgotten = 0
  batchesLeft = 0
  lines = []
})

const say = (level: string) => (_about: object, text: string) => void lines.push(`${level} ${text}`)
const log = {
  debug: say('debug'),
  info: say('info'),
  warn: say('warn'),
  error: say('error'),
} as unknown as Log

function reconciler(closes = (limit: number) => limit) {
  const store = {
    now: () => now,
    outbox: {
      closeForgotten: async (limit: number) => {
        const found = Math.min(limit, forgotten)
        forgotten -= Math.min(found, closes(limit))
        return found
      },
      closeRemaining: async () => batchesLeft > 0 && batchesLeft-- > 0,
      backlog: async () => backlog,
    },
  }
  return createReconciler({ store, scheduler: systemScheduler, log })
}

it('the reconciler closes forgotten outputs in batches until none is left', async () => {
  forgotten = 250
  await reconciler().kick()
  expect(forgotten).toBe(0)
  expect(lines).toEqual(['warn Closed what ended runs still showed as in progress on GitHub'])
})

it('the reconciler closes surplus outputs of ended runs, and logs nothing', async () => {
  batchesLeft = 30
  await reconciler().kick()
  expect(batchesLeft).toBe(0)
  expect(lines).toEqual([])
})

it('a pass ends even if nothing can be closed', async () => {
  forgotten = 250
  await reconciler(() => 0).kick()
  expect(forgotten).toBe(250)
})

it('the reconciler logs nothing while publishing is not behind', async () => {
  backlog = { ...nothing, oldestAt: now - minuteMs }
  await reconciler().kick()
  expect(lines).toEqual([])
})

it('the reconciler logs once that deliveries wait, that some failed, and the end', async () => {
  const loop = reconciler()
  const passes = async () => {
    await loop.kick()
    await loop.kick()
  }
  backlog = { ...nothing, oldestAt: now - 11 * minuteMs }
  await passes()
  backlog = { ...backlog, failed: 2 }
  await passes()
  backlog = nothing
  await passes()
  const remedy = '. To see how to fix it: holdfast doctor'
  const attention = 'warn Publishing needs attention'
  expect(lines).toEqual([
    `${attention}: deliveries have waited too long${remedy}`,
    `${attention}: deliveries have waited too long, 2 deliveries failed${remedy}`,
    'info Publishing is no longer behind',
  ])
})

it('the reconciler logs a count that stopped at its limit as the least', async () => {
  backlog = { ...nothing, failed: 1000 }
  await reconciler().kick()
  expect(lines.join()).toContain('at least 1000 deliveries failed')
})

it('the reconciler continues after a pass that failed', async () => {
  const loop = reconciler((limit) => {
    if (forgotten > 0) throw new Error('away')
    return limit
  })
  forgotten = 1
  await loop.kick()
  forgotten = 0
  backlog = { ...nothing, failed: 1 }
  await loop.kick()
  expect(lines.map((line) => line.slice(0, 24))).toEqual([
    'error Could not check fo',
    'warn Publishing needs at',
  ])
})
