import { describe, expect, test } from 'vitest'
import { InvalidInputError } from '../errors.ts'
import { openHoldfast } from './open-holdfast.ts'
import { checkClaim, checkCompletion, type Completion, type RunClaim } from './requests.ts'

const refusalOf = (check: () => unknown): InvalidInputError => {
  try {
    check()
  } catch (error) {
    if (error instanceof InvalidInputError) return error
  }
  throw new Error('it was accepted')
}

const claim = { repo: 'acme/widgets', prNumber: 5, baseSha: 'b'.repeat(40) }

describe('a claim that is wrong', () => {
  test('is told with every field at once, and with the name that was meant', () => {
    const given = { ...claim, prNumber: 0, head_sha: 'a'.repeat(40) }
    const refusal = refusalOf(() => checkClaim(given as unknown as RunClaim))
    expect(refusal.message).toBe(
      'checkAndClaimRun: prNumber must be a positive whole number; headSha is required; ' +
        'head_sha is not known here; did you mean headSha?',
    )
    expect(refusal.field).toBe('prNumber')
  })

  test('is told so when it is no object at all', () => {
    const refusal = refusalOf(() => checkClaim(undefined as unknown as RunClaim))
    expect(refusal.message).toBe('checkAndClaimRun: the argument is required')
  })
})

test('a completion that is wrong is told in the same words', () => {
  const given = { outcome: 'done', error: { code: 'A', text: 1 } }
  const refusal = refusalOf(() => checkCompletion(given as unknown as Completion))
  expect(refusal.message).toMatch(/^completeRun: outcome must be succeeded, failed or skipped; /)
  expect(refusal.message).not.toMatch(/Invalid|expected|received/)
})

describe('settings that are wrong', () => {
  test.each([
    [{ databaseUrl: 'mysql://x' }, 'openHoldfast: databaseUrl must be sqlite:PATH'],
    [{ leaseMs: 1 }, 'openHoldfast: leaseMs is 1 but must be a whole number'],
    [{ databaseurl: 'x' }, 'openHoldfast: the argument has the unknown key "databaseurl"'],
    [{ adminToken: 'x' }, 'openHoldfast: the argument sets adminToken, a secret'],
    [
      { runs: { a: { status: { context: 'x' } }, b: { status: { context: 'x' } } } },
      'openHoldfast: runs.b.status.context is "x"',
    ],
  ])('%j name the call they were given to', async (config, message) => {
    await expect(openHoldfast(config as object)).rejects.toThrow(message)
  })
})
