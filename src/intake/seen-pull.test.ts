// Goal: what was seen is told once however many see it, whatever differs is told apart, and what
// was heard is not told again.
import { describe, expect, it } from 'vitest'
import type { Subject } from '../domain/subject.ts'
import type { ListedPull } from '../github.ts'
import { missedOf, seenWebhook, type Heard, type Missed } from './seen-pull.ts'
import type { WebhookEvent } from './webhook-event.ts'

const place = { repo: 'acme/w', repoGithubId: 7 }
const pull: ListedPull = {
  ...{ number: 5, state: 'open', headSha: 'a', updatedAt: 1000, whole: { draft: true } },
}

const pushed: Missed = { action: 'synchronize', baseWas: null }
const guidOf = (over: Partial<ListedPull> = {}, missed = pushed) =>
  seenWebhook(place, { ...pull, ...over }, missed).webhookId

it('two who see the same tell it under one GUID, under whatever name', () => {
  expect(guidOf()).toBe(guidOf({ whole: { draft: true, title: 'another' } }))
  const renamed = seenWebhook({ ...place, repo: 'corp/w' }, pull, pushed)
  expect(renamed.webhookId).toBe(guidOf())
})

it.each<[string, Partial<ListedPull>, Missed?]>([
  ['another head', { headSha: 'b' }],
  ['closed', { state: 'closed' }],
  ['changed later', { updatedAt: 2000 }],
  ['ready for review in the same second', { whole: { draft: false } }],
  ['the same after something else', {}, { action: 'reopened', baseWas: null }],
])('%s has another GUID', (_what, over, missed) => {
  expect(guidOf(over, missed)).not.toBe(guidOf())
})

const open: ListedPull = { ...pull, whole: { draft: false, base: { ref: 'dev' } } }
const heardOn = (baseRef: string | null, over: Partial<Heard> = {}): Heard => ({
  last: { prState: 'open', draft: false } as WebhookEvent,
  ...{ headSha: 'a', baseRef, isOpen: true, wasDraft: false },
  ...over,
})
const actions = (heard: Heard, ...subjects: Pick<Subject, 'currentEnded'>[]) =>
  missedOf(open, heard, subjects).map(({ action }) => action)

describe('a base that is another by now', () => {
  it('is a change that was missed, by the name of its branch', () => {
    expect(missedOf(open, heardOn('dev'), [])).toEqual([])
    const [missed, ...more] = missedOf(open, heardOn('main'), [])
    expect([missed, more]).toEqual([{ action: 'edited', baseWas: 'main' }, []])
    const { body } = seenWebhook(place, open, missed!)
    const told = JSON.parse(body.toString()) as object
    expect(told).toMatchObject({ action: 'edited', changes: { base: { ref: { from: 'main' } } } })
  })

  it('is told with the push where the head is another, too', () => {
    const [missed] = missedOf(open, heardOn('main', { headSha: 'before' }), [])
    expect(missed).toEqual({ action: 'synchronize', baseWas: 'main' })
  })

  it('counts for nothing where nobody knows what it was', () => {
    expect(missedOf(open, heardOn(null), [])).toEqual([])
    const [missed] = missedOf(open, heardOn(null, { headSha: 'before' }), [])
    expect(missed!.baseWas).toBeNull()
  })

  it('and another again within the second has another GUID', () => {
    const again: ListedPull = { ...open, whole: { draft: false, base: { ref: 'release' } } }
    const guids = [open, again].map((now) => {
      return seenWebhook(place, now, missedOf(now, heardOn('main'), [])[0]!).webhookId
    })
    expect(guids[0]).not.toBe(guids[1])
  })
})

describe('what must have happened unheard', () => {
  it('is all that an event would have told, each for those who listen to it', () => {
    const before = heardOn('main', { headSha: 'before', isOpen: false, wasDraft: true })
    expect(actions(before)).toEqual(['reopened', 'ready_for_review', 'synchronize', 'edited'])
  })

  it('is nothing where only a draft was made of it: that starts nothing', () => {
    expect(missedOf(pull, heardOn(null), [])).toEqual([])
    expect(missedOf(pull, heardOn(null, { wasDraft: true }), [])).toEqual([])
  })

  it('is told by what became of its run where the inbox does not know', () => {
    const purged = heardOn('dev', { isOpen: null })
    expect(actions(purged, { currentEnded: 'closed' })).toEqual(['reopened'])
    expect(actions(purged, { currentEnded: 'failed' })).toEqual([])
    expect(actions(heardOn('dev'), { currentEnded: 'closed' })).toEqual([])
  })

  it('is its opening, or a push, where only labels tell of it', () => {
    const unknown = heardOn(null, { headSha: null, isOpen: null })
    expect(actions(unknown)).toEqual(['opened', 'synchronize'])
    expect(actions({ ...unknown, last: null })).toEqual(['opened'])
    expect(actions(unknown, { currentEnded: null })).toEqual(['synchronize'])
  })
})
