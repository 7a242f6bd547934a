// Goal: what was seen is told once however many see it, and whatever differs is told apart.
import { expect, it } from 'vitest'
import type { ListedPull } from '../github.ts'
import { seenWebhook } from './seen-pull.ts'

const place = { repo: 'acme/w', repoGithubId: 7 }
const pull: ListedPull = {
  ...{ number: 5, state: 'open', headSha: 'a', updatedAt: 1000, whole: { draft: true } },
}

const guidOf = (over: Partial<ListedPull> = {}, action = 'synchronize') =>
  seenWebhook(place, { ...pull, ...over }, action).webhookId

it('two who see the same tell it under one GUID, under whatever name', () => {
  expect(guidOf()).toBe(guidOf({ whole: { draft: true, title: 'another' } }))
  const renamed = seenWebhook({ ...place, repo: 'corp/w' }, pull, 'synchronize')
  expect(renamed.webhookId).toBe(guidOf())
})

it.each<[string, Partial<ListedPull>, string?]>([
  ['another head', { headSha: 'b' }],
  ['closed', { state: 'closed' }],
  ['changed later', { updatedAt: 2000 }],
  ['ready for review in the same second', { whole: { draft: false } }],
  ['the same after something else', {}, 'reopened'],
])('%s has another GUID', (_what, over, action) => {
  expect(guidOf(over, action)).not.toBe(guidOf())
})
