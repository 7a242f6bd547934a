// Goal: a pass waits for all its webhooks together, for no longer than a person would wait.
import { pino } from 'pino'
import { expect, it } from 'vitest'
import type { InboxEntry } from '../../domain/inbox.ts'
import { systemScheduler } from '../../scheduler.ts'
import { withTypeDefaults } from '../../settings/run-types/type-defaults.ts'
import { createCatchUp, type CatchUpOptions } from './catch-up.ts'

const startedAt = Date.UTC(2026, 0, 1)

/**
 * A pass that finds this many missed webhooks; `isDecided` says which of them are decided at once.
 */
function catchUpOver(missed: number, isDecided: (n: number) => boolean) {
  let now = 0
  const waits: number[] = []
  const numberOf = (inboxId: string): number => Number(inboxId.slice('inb_'.length))
  const entryOf = (n: number) => ({
    state: isDecided(n) ? 'processed' : 'waiting',
    outcomes: isDecided(n) ? [{ result: 'claimed', reason: 'new', runIds: [`run_${n}`] }] : [],
  })
  const items = Array.from({ length: missed }, (_, i) => {
    const deliveredAt = startedAt + (missed - i) * 1000
    return { id: i, guid: String(i), deliveredAt, event: 'pull_request', action: 'opened' }
  })
  const options = {
    github: {
      ownIdentity: 'github:app:7',
      hookDeliveries: async () => ({ items, nextCursor: null }),
      hookDelivery: async () => ({ headers: {}, payload: {} }),
    },
    store: {
      now: () => startedAt + missed * 1000,
      upkeep: { firstStartedAt: async () => startedAt },
      inbox: { get: async (id: string) => entryOf(numberOf(id)) as unknown as InboxEntry },
      outbox: { blockedUntil: async () => null },
      catchUp: {
        knownWebhooks: async () => new Set(),
        deliveriesRead: async () => null,
        noteDeliveriesRead: async () => undefined,
        repositoriesInUse: async () => ({ items: [], left: 0 }),
        quietRepositories: async () => ({ items: [], next: [] }),
        takeHeadCheck: async () => null,
      },
    },
    intake: {
      ready: Promise.resolve(),
      intake: {
        receive: async ({ webhookId }: { webhookId: string }) => {
          return { inboxId: `inb_${webhookId}`, decision: 'accepted' }
        },
      },
      processor: {
        waitUntilDecided: async (id: string, ms: number) => {
          waits.push(ms)
          now += isDecided(numberOf(id)) ? 0 : ms
        },
      },
    },
    types: withTypeDefaults({}).runs,
    clock: { wallMs: () => startedAt, monotonicMs: () => now },
    scheduler: { ...systemScheduler, afterInBackground: () => () => undefined },
    log: pino({ level: 'silent' }),
  } as unknown as CatchUpOptions
  return { catchUp: createCatchUp(options), waited: () => now, waits }
}

it('a pass waits for undecided webhooks together, not one after the other', async () => {
  const { catchUp, waited } = catchUpOver(500, (n) => n < 10)
  const { ingested, runsMade, skipped } = await catchUp.now()
  expect([ingested, runsMade.length]).toEqual([500, 10])
  expect(waited()).toBeLessThanOrEqual(30_000)
  expect(skipped).toEqual([{ what: '490 webhooks', reason: 'they are not decided yet' }])
})

it('a pass does not wait for webhooks that are already decided', async () => {
  const { catchUp, waited, waits } = catchUpOver(3, () => true)
  expect(await catchUp.now()).toMatchObject({ ingested: 3, skipped: [] })
  expect([waited(), waits.length]).toEqual([0, 3])
})
