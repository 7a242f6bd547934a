// Goal: a caller's time is used only as far as its clock can be right; a job cannot take the name
// of a pull request.
import { expect, it } from 'vitest'
import { policy } from '../../test/conformance/claims.ts'
import { byCallersClock, toClaim } from './claim-request.ts'

const now = Date.UTC(2026, 0, 31, 12)
const sha = (mark: string) => mark.repeat(40)
const request = { kind: 'pull_request', type: 'review', repo: 'acme/w', pr: 5 } as const

function claimed(aheadMs: number) {
  const commits = { baseSha: sha('b'), headSha: sha('a') }
  const timed = { ...request, ...commits, eventAt: now + aheadMs }
  const setting = { policy, lease: null, leaseMs: 1000, actor: 'test', now }
  return toClaim(byCallersClock(timed, now), setting).eventAt
}

it('a time in the past, or as little ahead as clocks differ, orders the claim', () => {
  for (const aheadMs of [-60_000, 0, 2000]) expect(claimed(aheadMs)).toBe(now + aheadMs)
})

it('a time further ahead is left out: the order of arrival decides, and GitHub is asked', () => {
  for (const aheadMs of [2001, 10_000, 240_000, 300_000]) expect(claimed(aheadMs)).toBeNull()
})

it('a time more than five minutes ahead is refused', () => {
  expect(() => claimed(300_001)).toThrow('event_at is more than five minutes ahead')
})

it('a job never has the name of a pull request, and no two jobs share a name', () => {
  const named = (subject: string) => {
    const job = { kind: 'job', type: 'review', repo: 'acme/w', key: 'k', subject } as const
    return toClaim(job, { policy, lease: null, leaseMs: 1000, actor: 'test', now }).subjectName
  }
  const given = ['pr-5', 'job pr-5', 'job job pr-5', 'deploy', 'pr-5b']
  const names = given.map(named)
  expect(names).not.toContain('pr-5')
  expect(new Set(names).size).toBe(given.length)
  expect(named('deploy')).toBe('deploy')
})
