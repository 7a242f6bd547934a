// Goal: what was seen is told once however many see it, and whatever differs is told apart.
import { describe, expect, it } from 'vitest'
import type { ListedPull } from '../github.ts'
import { isSameAs, missedOf, seenWebhook, type Heard, type Missed } from './seen-pull.ts'
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

describe('a base that is another by now', () => {
  const open: ListedPull = { ...pull, whole: { draft: false, base: { ref: 'dev' } } }
  const heardOn = (baseRef: string | null, over: Partial<Heard> = {}): Heard => ({
    last: { prState: 'open', draft: false } as WebhookEvent,
    headSha: 'a',
    baseRef,
    ...over,
  })

  it('is a change that was missed, by the name of its branch', () => {
    expect(isSameAs(heardOn('dev'), open)).toBe(true)
    expect(isSameAs(heardOn('main'), open)).toBe(false)
    const missed = missedOf(open, heardOn('main'), [])
    expect(missed).toEqual({ action: 'edited', baseWas: 'main' })
    const { body } = seenWebhook(place, open, missed)
    const told = JSON.parse(body.toString()) as object
    expect(told).toMatchObject({ action: 'edited', changes: { base: { ref: { from: 'main' } } } })
  })

  it('is told with the push where the head is another, too', () => {
    const missed = missedOf(open, heardOn('main', { headSha: 'before' }), [])
    expect(missed).toEqual({ action: 'synchronize', baseWas: 'main' })
  })

  it('counts for nothing where nobody knows what it was', () => {
    expect(isSameAs(heardOn(null), open)).toBe(true)
    expect(missedOf(open, heardOn(null, { headSha: 'before' }), []).baseWas).toBeNull()
  })

  it('and another again within the second has another GUID', () => {
    const again: ListedPull = { ...open, whole: { draft: false, base: { ref: 'release' } } }
    const guids = [open, again].map((now) => {
      return seenWebhook(place, now, missedOf(now, heardOn('main'), [])).webhookId
    })
    expect(guids[0]).not.toBe(guids[1])
  })
})
