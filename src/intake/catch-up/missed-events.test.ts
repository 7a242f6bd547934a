// Goal: a change that catch-up sees is stored once, however many processes see it; different
// changes are kept apart; and a change that an event reported is not stored again.
import { describe, expect, it } from 'vitest'
import type { Subject } from '../../domain/subject.ts'
import type { ListedPull } from '../../github.ts'
import {
  missedEventsOf,
  missedWebhook,
  type ReceivedState,
  type MissedEvent,
} from './missed-events.ts'
import type { WebhookEvent } from '../events/webhook-event.ts'

const place = { repo: 'acme/w', repoGithubId: 7 }
const pull: ListedPull = {
  ...{ number: 5, state: 'open', headSha: 'a', updatedAt: 1000, whole: { draft: true } },
}

const pushed: MissedEvent = { action: 'synchronize', baseWas: null }
const guidOf = (over: Partial<ListedPull> = {}, missed = pushed) =>
  missedWebhook(place, { ...pull, ...over }, missed).webhookId

it('two processes that see the same change use one GUID, under any repository name', () => {
  expect(guidOf()).toBe(guidOf({ whole: { draft: true, title: 'another' } }))
  const renamed = missedWebhook({ ...place, repo: 'corp/w' }, pull, pushed)
  expect(renamed.webhookId).toBe(guidOf())
})

it.each<[string, Partial<ListedPull>, MissedEvent?]>([
  ['a pull request with another head', { headSha: 'b' }],
  ['a closed pull request', { state: 'closed' }],
  ['a pull request that changed later', { updatedAt: 2000 }],
  ['a pull request that became ready in the same second', { whole: { draft: false } }],
  ['the same pull request after another action', {}, { action: 'reopened', baseWas: null }],
])('%s has another GUID', (_what, over, missed) => {
  expect(guidOf(over, missed)).not.toBe(guidOf())
})

const open: ListedPull = { ...pull, whole: { draft: false, base: { ref: 'dev' } } }
const receivedOn = (baseRef: string | null, over: Partial<ReceivedState> = {}): ReceivedState => ({
  last: { prState: 'open', draft: false } as WebhookEvent,
  ...{ headSha: 'a', baseRef, isOpen: true, wasDraft: false },
  ...over,
})
const actions = (received: ReceivedState, ...subjects: Pick<Subject, 'currentEnded'>[]) =>
  missedEventsOf(open, received, subjects).map(({ action }) => action)

describe('a base branch that differs from the last event', () => {
  it('is a missed change, and the change names the old branch', () => {
    expect(missedEventsOf(open, receivedOn('dev'), [])).toEqual([])
    const [missed, ...more] = missedEventsOf(open, receivedOn('main'), [])
    expect([missed, more]).toEqual([{ action: 'edited', baseWas: 'main' }, []])
    const { body } = missedWebhook(place, open, missed!)
    const payload = JSON.parse(body.toString()) as object
    expect(payload).toMatchObject({
      action: 'edited',
      changes: { base: { ref: { from: 'main' } } },
    })
  })

  it('is reported together with the push if the head differs, too', () => {
    const [missed] = missedEventsOf(open, receivedOn('main', { headSha: 'before' }), [])
    expect(missed).toEqual({ action: 'synchronize', baseWas: 'main' })
  })

  it('is not reported if the old branch is unknown', () => {
    expect(missedEventsOf(open, receivedOn(null), [])).toEqual([])
    const [missed] = missedEventsOf(open, receivedOn(null, { headSha: 'before' }), [])
    expect(missed!.baseWas).toBeNull()
  })

  it('and changes again within a second has another GUID', () => {
    const again: ListedPull = { ...open, whole: { draft: false, base: { ref: 'release' } } }
    const guids = [open, again].map((now) => {
      return missedWebhook(place, now, missedEventsOf(now, receivedOn('main'), [])[0]!).webhookId
    })
    expect(guids[0]).not.toBe(guids[1])
  })
})

describe('the missed changes of a pull request', () => {
  it('are all that events would have reported, each with its own action', () => {
    const before = receivedOn('main', { headSha: 'before', isOpen: false, wasDraft: true })
    expect(actions(before)).toEqual(['reopened', 'ready_for_review', 'synchronize', 'edited'])
  })

  it('are none if it only became a draft, because that starts nothing', () => {
    expect(missedEventsOf(pull, receivedOn(null), [])).toEqual([])
    expect(missedEventsOf(pull, receivedOn(null, { wasDraft: true }), [])).toEqual([])
  })

  it('follow from how its run ended if the inbox does not know', () => {
    const purged = receivedOn('dev', { isOpen: null })
    expect(actions(purged, { currentEnded: 'closed' })).toEqual(['reopened'])
    expect(actions(purged, { currentEnded: 'failed' })).toEqual([])
    expect(actions(receivedOn('dev'), { currentEnded: 'closed' })).toEqual([])
  })

  it('are its opening or a push if there were only labels before', () => {
    const unknown = receivedOn(null, { headSha: null, isOpen: null })
    expect(actions(unknown)).toEqual(['opened', 'synchronize'])
    expect(actions({ ...unknown, last: null })).toEqual(['opened'])
    expect(actions(unknown, { currentEnded: null })).toEqual(['synchronize'])
  })
})
