// Goal: the order of two heads, case by case, without a store.
import { describe, expect, it } from 'vitest'
import type { HeadClaim, HeadKnowledge } from './head-order.ts'
import { orderDoubtMs, rankHead } from './head-order.ts'
import type { Subject } from './subject.ts'

const nothing: Subject = {
  id: 'sub_1',
  type: 'review',
  scope: 'rep_1',
  name: 'pr-5',
  currentRunId: null,
  currentPair: null,
  headSha: null,
  headBefore: null,
  headAt: null,
  floorAt: null,
  finishedRunId: null,
  finishedHeadSha: null,
  finishedVerdict: null,
  currentEnded: null,
  threadCreatedAt: null,
  createdAt: 0,
  touchedAt: 0,
}

/** A subject whose head is A. */
function headed(headAt: number | null, floorAt: number | null, headBefore?: string): Subject {
  const current = { currentRunId: 'run_a', currentPair: 'a', headSha: 'a' }
  return { ...nothing, ...current, headAt, floorAt, headBefore: headBefore ?? null }
}

function claim(head: string, eventAt: number | null, over: Partial<HeadClaim> = {}): HeadClaim {
  return { pair: head, headSha: head, beforeSha: null, headMaking: true, eventAt, ...over }
}

const fresh: HeadKnowledge = { repeated: false, currentEventAt: null }
const newer = (orderAt: number | null, unclear = false) => ({ rank: 'newer', orderAt, unclear })
const current = (orderAt: number | null) => ({ rank: 'current', orderAt, unclear: false })
const stale = { rank: 'stale', orderAt: null, unclear: false }
const staleToBeAsked = { ...stale, unclear: true }
/** So much later that a difference between clocks cannot be the reason. */
const later = orderDoubtMs + 5

describe('the first head', () => {
  it('has the time of the event that made it', () => {
    expect(rankHead(claim('a', 5), nothing, fresh)).toEqual(newer(5))
  })

  it('has no order when its event has no time or only mentions it', () => {
    expect(rankHead(claim('a', null), nothing, fresh)).toEqual(newer(null))
    expect(rankHead(claim('a', 5, { headMaking: false }), nothing, fresh)).toEqual(newer(null))
  })
})

describe('the current head', () => {
  it.each([
    ['gets a higher order from a later event', 5, 5, 7, 7],
    ['keeps its order after an earlier event', 5, 5, 3, 5],
    ['keeps its order when the event has no time', 5, 5, null, 5],
    ['is verified by the first event with a time', null, null, 3, 3],
    ['is verified by an event above the floor', null, 5, 6, 6],
    ['is not verified by an event at the floor', null, 5, 5, null],
    ['is not verified by an event below the floor', null, 5, 4, null],
  ])('%s', (_what, headAt, floorAt, eventAt, orderAt) => {
    const rank = rankHead(claim('a', eventAt), headed(headAt, floorAt), fresh)
    expect(rank).toEqual(current(orderAt))
  })

  it('keeps its order when an event only mentions it', () => {
    const mention = claim('a', 9, { headMaking: false })
    expect(rankHead(mention, headed(5, 5), fresh)).toEqual(current(5))
  })
})

describe('another head', () => {
  it.each([
    ['later than a verified head is newer', 5, 5, 6, newer(6)],
    ['earlier than a verified head is stale', later, later, 4, stale],
    [
      'earlier by no more than clocks differ is stale, and GitHub is asked',
      later,
      later,
      5,
      staleToBeAsked,
    ],
    ['at the same time as a verified head is ordered by arrival', 5, 5, 5, newer(null, true)],
    ['without a time is ordered by arrival', 5, 5, null, newer(null, true)],
    ['below the floor is stale, also if the current head is unverified', null, later, 4, stale],
    ['a little below the floor is stale, and GitHub is asked', null, later, 5, staleToBeAsked],
    ['at the floor of an unverified head is ordered by arrival', null, 5, 5, newer(null, true)],
    [
      'above the floor of an unverified head is newer, and GitHub is asked',
      null,
      5,
      6,
      newer(6, true),
    ],
    ['with a time is newer than a head that never had one', null, null, 1, newer(1, true)],
  ])('%s', (_what, headAt, floorAt, eventAt, rank) => {
    expect(rankHead(claim('b', eventAt), headed(headAt, floorAt), fresh)).toEqual(rank)
  })

  it('that replaced the current one in the same second is newer', () => {
    const tie = claim('b', 5, { beforeSha: 'a' })
    expect(rankHead(tie, headed(5, 5), fresh)).toEqual(newer(5))
  })

  it('that replaced the current one after a push is newer, and GitHub is asked', () => {
    const tie = claim('b', 5, { beforeSha: 'a' })
    expect(rankHead(tie, headed(5, 5, 'c'), fresh)).toEqual(newer(5, true))
  })

  it('that the current one replaced in the same second is stale', () => {
    expect(rankHead(claim('b', 5), headed(5, 5, 'b'), fresh)).toEqual(stale)
  })

  it('that was replaced, and that a push brought back, is stale: GitHub is asked', () => {
    const back = claim('b', 5, { beforeSha: 'c' })
    expect(rankHead(back, headed(5, 5, 'b'), fresh)).toEqual(staleToBeAsked)
  })
})

it('two heads that replaced each other in the same second are ordered by arrival', () => {
  const back = claim('b', 5, { beforeSha: 'a' })
  expect(rankHead(back, headed(5, 5, 'b'), fresh)).toEqual(newer(null, true))
})

describe('a mention of another head', () => {
  const mention = (eventAt: number | null) => claim('b', eventAt, { headMaking: false })

  it('is ordered by arrival, or is stale if it is earlier than the current head', () => {
    expect(rankHead(mention(6), headed(5, 5), fresh)).toEqual(newer(null, true))
    expect(rankHead(mention(5), headed(5, 5), fresh)).toEqual(newer(null, true))
    expect(rankHead(mention(null), headed(5, 5), fresh)).toEqual(newer(null, true))
    expect(rankHead(mention(4), headed(later, later), fresh)).toEqual(stale)
    expect(rankHead(mention(5), headed(later, later), fresh)).toEqual(staleToBeAsked)
  })

  it('is stale if it is earlier than the last event of an unverified current head', () => {
    const withLaterEvent = { ...fresh, currentEventAt: later }
    expect(rankHead(mention(4), headed(null, 3), withLaterEvent)).toEqual(stale)
    expect(rankHead(mention(5), headed(null, 3), withLaterEvent)).toEqual(staleToBeAsked)
    expect(rankHead(mention(later), headed(null, 3), withLaterEvent)).toEqual(newer(null, true))
  })

  it('is stale if it was decided before, however late it comes', () => {
    expect(rankHead(mention(99), headed(5, 5), { ...fresh, repeated: true })).toEqual(stale)
  })
})
