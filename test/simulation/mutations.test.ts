/**
 * Goal: the simulation can fail. Each part of the protocol that must hold is taken out, and within
 * so many seeds, all of which pass with the product as it is, a rule notices.
 */
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { LeasedDelivery, OutboxStore } from '../../src/outbox-store.ts'
import type { Rule } from '../../src/simulation/findings.ts'
import type { Mutation } from '../../src/simulation/node.ts'
import { simulate } from '../../src/simulation/simulate.ts'
import type { Store } from '../../src/store.ts'

/** Those that `simulation.test.ts` shows to pass. */
const seedsMax = 100

const mutants: Readonly<Record<string, { mutation: Mutation; rules: readonly Rule[] }>> = {
  'no look before sending again': {
    mutation: { store: (store) => withOutbox(store, { lease: forgetfulLease(store) }) },
    rules: ['8'],
  },
  'no fence: a late completion counts': {
    mutation: { store: (store) => proxied(store, { completeRun: fencelessCompletion(store) }) },
    // Or it is told "done" for what somebody else has done.
    rules: ['2', '12'],
  },
  'no fence: the outcome of a lost lease counts': {
    mutation: { store: (store) => withOutbox(store, { endAttempt: fencelessEnd(store) }) },
    rules: ['2', '5', '7'],
  },
  'no version check: an outcome closes what it did not carry': {
    mutation: { store: (store) => withOutbox(store, { beginAttempt: versionlessBegin(store) }) },
    rules: ['5', '7'],
  },
  'no settling: what was read again is taken for right': {
    mutation: { store: (store) => withOutbox(store, { record: contentRecord(store) }) },
    rules: ['5', '7'],
  },
  'a marker is trusted whoever wrote it': {
    mutation: { fetch: everybodyIsUs },
    rules: ['6'],
  },
}

it.each(Object.keys(mutants))('notices: %s', { timeout: 600_000 }, async (name) => {
  const { mutation, rules } = mutants[name]!
  const seeds = Array.from({ length: seedsMax }, (_, at) => at + 1)
  const { broken } = await simulate({ seeds, clock: systemClock, mutation })
  const [first] = broken
  expect(first, `within ${seedsMax} seeds`).toBeDefined()
  expect(first?.violations.map(({ rule }) => rule)).toContainEqual(expect.toBeOneOf(rules))
})

function withOutbox(store: Store, changed: Partial<OutboxStore>): Store {
  return proxied(store, { outbox: proxied(store.outbox, changed) })
}

/** The same with some parts changed; its own methods keep their `this`. */
function proxied<T extends object>(whole: T, changed: Partial<T>): T {
  return new Proxy(whole, {
    get: (target, name) => {
      const part: unknown = Reflect.get(changed, name) ?? Reflect.get(target, name)
      return typeof part === 'function' ? (part.bind(target) as unknown) : part
    },
  })
}

/** Whatever was sent without an answer is not remembered. */
function forgetfulLease({ outbox }: Store): OutboxStore['lease'] {
  return async (limit) => (await outbox.lease(limit)).map(withoutDoubt)
}

function withoutDoubt(leased: LeasedDelivery): LeasedDelivery {
  const { doubt: _doubt, ...memo } = leased.delivery.memo
  return { ...leased, delivery: { ...leased.delivery, memo } }
}

function fencelessCompletion(store: Store): Store['completeRun'] {
  return async (request, once) => {
    const held = (await store.run(request.runId))?.leaseHash
    return await store.completeRun({ ...request, leaseHash: held ?? request.leaseHash }, once)
  }
}

/** Whoever was too late is believed nevertheless: what it sent is what stands. */
function fencelessEnd({ outbox }: Store): OutboxStore['endAttempt'] {
  return async (hold, report) => {
    const recorded = await outbox.endAttempt(hold, report)
    const { end } = report
    if (recorded === 'recorded' || end.what !== 'sent') return recorded
    await outbox.confirm(hold.deliveryId, end.providerId, 'late', null)
    return 'recorded'
  }
}

function versionlessBegin({ outbox }: Store): OutboxStore['beginAttempt'] {
  return async (request) => {
    const delivery = await outbox.delivery(request.hold.deliveryId)
    const { versionFence, versionSeq } = delivery ?? request
    return await outbox.beginAttempt({ ...request, versionFence, versionSeq })
  }
}

function contentRecord({ outbox }: Store): OutboxStore['record'] {
  return async (hold, finding) => {
    if (finding.what !== 'settled') return await outbox.record(hold, finding)
    const standing = [{ providerId: '1', url: null, current: true }]
    return await outbox.record(hold, { ...finding, standing })
  }
}

/** Lists of comments show every comment as ours. */
function everybodyIsUs(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  let ourId: unknown = null
  return async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    const response = await fetch(input, init)
    const isUs = pathname === '/user' || pathname.startsWith('/users/')
    const isList = (init?.method ?? 'GET') === 'GET' && /\/issues\/\d+\/comments$/.test(pathname)
    if (response.status !== 200 || (!isUs && !isList)) return response
    const data = (await response.json()) as Record<string, unknown> | Record<string, unknown>[]
    if (!Array.isArray(data)) ourId = data['id']
    const told = Array.isArray(data) ? data.map((one) => ({ ...one, user: { id: ourId } })) : data
    return new Response(JSON.stringify(told), { status: 200, headers: response.headers })
  }
}
