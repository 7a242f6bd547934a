import { once } from 'node:events'
import { expect, it } from 'vitest'
import type { Log } from '../log.ts'
import { orderWarning } from './order-warning.ts'
import { checkClaim, type RunClaim } from './requests.ts'

const sha = (letter: string): string => letter.repeat(40)
const claim = { repo: 'acme/widgets', prNumber: 7, baseSha: sha('b'), headSha: sha('a') }
const eventAt = new Date('2026-01-31T12:00:00Z')

function warningsOf(...claims: readonly Partial<RunClaim>[]): string[] {
  const told: string[] = []
  const ignore = (): void => undefined
  const warn = (_about: object, message: string) => void told.push(message)
  const log = { debug: ignore, info: ignore, warn, error: ignore } as unknown as Log
  const warnAbout = orderWarning(log)
  for (const over of claims) warnAbout(checkClaim({ ...claim, ...over }))
  return told
}

it('a claim without its time is warned of once, with what to pass', () => {
  const told = warningsOf({}, {}, { action: 'synchronize', eventAt })
  expect(told).toEqual([expect.stringMatching(/without eventAt.*pull_request\.updated_at/)])
})

it('a push that does not say what it replaced is warned of', () => {
  expect(warningsOf({ action: 'synchronize', eventAt })[0]).toContain('without beforeSha')
})

it('a claim that says all, or that a person asked for, is not', () => {
  const whole = { action: 'synchronize', eventAt, beforeSha: sha('c') }
  expect(warningsOf(whole, { action: 'opened', eventAt }, { rerun: true })).toEqual([])
})

it('without a log the process warns', async () => {
  const warned = once(process, 'warning')
  orderWarning(undefined)(checkClaim(claim))
  expect(await warned).toEqual([
    expect.objectContaining({
      code: 'HOLDFAST_ARRIVAL_ORDER',
      message: expect.stringContaining('eventAt') as string,
    }),
  ])
})
