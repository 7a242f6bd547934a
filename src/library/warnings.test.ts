import { once } from 'node:events'
import { expect, it } from 'vitest'
import type { Log } from '../log.ts'
import { orderWarning } from './warnings.ts'
import { checkClaim, type RunClaim } from './requests.ts'

const sha = (letter: string): string => letter.repeat(40)
const claim = { repo: 'acme/widgets', prNumber: 7, baseSha: sha('b'), headSha: sha('a') }
const eventAt = new Date('2026-01-31T12:00:00Z')

function warningsOf(...claims: readonly Partial<RunClaim>[]): string[] {
  const warnings: string[] = []
  const ignore = (): void => undefined
  const warn = (_about: object, message: string) => void warnings.push(message)
  const log = { debug: ignore, info: ignore, warn, error: ignore } as unknown as Log
  const warnAbout = orderWarning(log)
  for (const over of claims) warnAbout(checkClaim({ ...claim, ...over }))
  return warnings
}

it('a claim without its time leads to one warning, with what to pass', () => {
  const warnings = warningsOf({}, {}, { action: 'synchronize', eventAt })
  expect(warnings).toEqual([expect.stringMatching(/without eventAt.*pull_request\.updated_at/)])
})

it('a push without the head that it replaced leads to a warning', () => {
  expect(warningsOf({ action: 'synchronize', eventAt })[0]).toContain('without beforeSha')
})

it('a complete claim, or one that a person asked for, leads to no warning', () => {
  const whole = { action: 'synchronize', eventAt, beforeSha: sha('c') }
  expect(warningsOf(whole, { action: 'opened', eventAt }, { rerun: true })).toEqual([])
})

it('without a log the warning goes to the process', async () => {
  const warned = once(process, 'warning')
  orderWarning(undefined)(checkClaim(claim))
  expect(await warned).toEqual([
    expect.objectContaining({
      code: 'HOLDFAST_ARRIVAL_ORDER',
      message: expect.stringContaining('eventAt') as string,
    }),
  ])
})
