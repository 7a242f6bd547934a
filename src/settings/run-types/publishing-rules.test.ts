/** Goal: the retries in a config file become the waits of that channel, and of no other. */
import { expect, it } from 'vitest'
import { defaultPublishing } from '../../domain/outbox/schedule.ts'
import { retryRules } from './publishing-rules.ts'

it('each wait is longer than the one before, up to the longest', () => {
  const retry = { maxRetries: 4, initialMs: 500, maxMs: 3000 }
  expect(retryRules({ 'github-status': { retry } })).toEqual({
    'github-status': { quickMs: [500, 1000, 2000, 3000], backgroundMs: [3000], retriesMax: 4 },
  })
})

it('without a number of retries, the retries continue in the background', () => {
  const rules = retryRules({ 'github-label': { retry: { initialMs: 10_000, factor: 3 } } })
  expect(rules['github-label']).toEqual({
    quickMs: [10_000, 30_000, 90_000],
    backgroundMs: [120_000, 300_000, 600_000, 900_000],
    retriesMax: null,
  })
})

it('a channel without retry settings has no rules of its own', () => {
  expect(retryRules({ 'github-check': {} })).toEqual({})
  expect(retryRules({ 'github-check': { retry: {} } })['github-check']?.quickMs).toEqual(
    defaultPublishing.retry.quickMs,
  )
})
