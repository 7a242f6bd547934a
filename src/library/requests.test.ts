import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { completeBody } from '../contract/runs.ts'
import { InvalidInputError } from '../errors.ts'
import { openHoldfast } from './open-holdfast.ts'
import { checkClaim, checkCompletion, checkOutput } from './requests.ts'
import type { Completion, Output, RunClaim } from './requests.ts'

const refusalOf = (check: () => unknown): InvalidInputError => {
  try {
    check()
  } catch (error) {
    if (error instanceof InvalidInputError) return error
  }
  throw new Error('it was accepted')
}

const claim = { repo: 'acme/widgets', prNumber: 5, baseSha: 'b'.repeat(40) }

describe('an invalid claim', () => {
  test('is refused with every wrong field at once, and with the likely name', () => {
    const given = { ...claim, prNumber: 0, head_sha: 'a'.repeat(40) }
    const refusal = refusalOf(() => checkClaim(given as unknown as RunClaim))
    expect(refusal.message).toBe(
      'checkAndClaimRun: prNumber must be a positive whole number; headSha is required; ' +
        'head_sha is not a known field. Did you mean "headSha"?',
    )
    expect(refusal.field).toBe('prNumber')
  })

  test.each([
    ['2026-01-31T12:00:00Z', 'must be a Date object: new Date(pullRequest.updated_at)'],
    [new Date('soon'), 'must be a valid Date'],
  ])('is refused with the remedy if its time is %j', (eventAt, told) => {
    const given = { ...claim, headSha: 'a'.repeat(40), eventAt } as RunClaim
    const refusal = refusalOf(() => checkClaim(given))
    expect(refusal.message).toBe(`checkAndClaimRun: eventAt ${told}`)
    expect(refusal.field).toBe('eventAt')
  })

  test('is refused if it is not an object', () => {
    const refusal = refusalOf(() => checkClaim(undefined as unknown as RunClaim))
    expect(refusal.message).toBe('checkAndClaimRun: the argument is required')
  })
})

test('an invalid completion is refused in the same way', () => {
  const given = { outcome: 'done', error: { code: 'A', text: 1 } }
  const refusal = refusalOf(() => checkCompletion('completeRun', given as unknown as Completion))
  expect(refusal.message).toMatch(/^completeRun: outcome must be succeeded, failed or skipped; /)
  expect(refusal.message).not.toMatch(/Invalid|expected|received/)
})

describe('a summary', () => {
  const ofBytes = (bytes: number) => ({ summary: 'é'.repeat(bytes / 2) })
  const most = 256 * 1024

  test.each([ofBytes(most), { summary: 'x'.repeat(most) }])(
    'may be as long as the summary file of a command',
    (given) => {
      expect(checkCompletion('completeRun', given)).toMatchObject(given)
      const body = { lease_token: 'x', outcome: 'succeeded', ...given }
      expect(completeBody.safeParse(body).success).toBe(true)
    },
  )

  test.each([ofBytes(most + 2), ofBytes(4 * most)])('is refused if it is longer', (given) => {
    const refusal = refusalOf(() => checkCompletion('completeRun', given))
    expect(refusal.message).toBe('completeRun: summary must be at most 256 KB as UTF-8')
    const body = { lease_token: 'x', outcome: 'succeeded', ...given }
    const messages = completeBody.safeParse(body).error?.issues.map(({ message }) => message)
    expect(messages).toEqual(['must be at most 256 KB as UTF-8'])
  })
})

describe('a value that is not JSON is refused by the name of its field', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = [circle]
  let deep: unknown = 1
  for (let n = 0; n < 100_000; n += 1) deep = [deep]
  const broken = { toJSON: () => JSON.parse('{') as unknown }

  test.each([
    [
      'a function',
      () => 1,
      'must be a value that JSON has, such as an object or a text, not a function',
    ],
    [
      'a symbol',
      Symbol('x'),
      'must be a value that JSON has, such as an object or a text, not a symbol',
    ],
    ['a BigInt', 1n, 'must be JSON, which has no BigInt; pass a number, or its digits as text'],
    ['a BigInt inside', { a: [1n] }, 'must be JSON, which has no BigInt; pass a number, or its'],
    ['a circle', circle, 'must be JSON; this contains itself, or a toJSON() in it throws: pass'],
    ['a toJSON that throws', broken, 'must be JSON; this contains itself, or a toJSON()'],
    ['a deep nest', deep, 'must not be nested so deeply'],
    ['Infinity inside', { a: [Infinity] }, 'must not contain a number too large for JSON'],
    ['too much', 'x'.repeat(256 * 1024), 'must be at most 256 KB as JSON'],
  ])('%s', (_what, given, problem) => {
    const ofClaim = refusalOf(() => checkClaim({ ...claim, headSha: 'a'.repeat(40), input: given }))
    expect(ofClaim.field).toBe('input')
    expect(ofClaim.message).toContain(`checkAndClaimRun: input ${problem}`)
    const ofResult = refusalOf(() => checkCompletion('gate.complete', { result: given }))
    expect(ofResult.field).toBe('result')
    expect(ofResult.message).toContain(`gate.complete: result ${problem}`)
  })

  test('every value that can be written as JSON is accepted', () => {
    const shared = [1]
    const result = { at: new Date(0), twice: [shared, shared], none: undefined, null: null }
    expect(checkCompletion('gate.complete', { result }).result).toBe(result)
  })
})

describe('invalid settings', () => {
  test.each([
    [{ databaseUrl: 'mysql://x' }, 'openHoldfast: databaseUrl must be sqlite:PATH'],
    [{ leaseMs: 1 }, 'openHoldfast: leaseMs is 1 but must be a whole number'],
    [{ databaseurl: 'x' }, 'openHoldfast: the argument has the unknown key "databaseurl"'],
    [{ adminToken: 'x' }, 'openHoldfast: the argument sets adminToken, which only a'],
    [
      { runs: { a: { status: { context: 'x' } }, b: { status: { context: 'x' } } } },
      'openHoldfast: runs.b.status.context is "x"',
    ],
  ])('%j are refused with the name of the call', async (config, message) => {
    await expect(openHoldfast(config as object)).rejects.toThrow(message)
  })
})

describe('an option that does not exist', () => {
  const config = { databaseUrl: 'sqlite::memory:' }

  test.each([
    [{ onStoreErorr: 'open' }, 'onStoreErorr is not a known field. Did you mean "onStoreError"?'],
    [{ githb: { token: 'x' } }, 'githb is not a known field. Did you mean "github"?'],
    [{ github: { tokn: 'x' } }, 'github has the unknown field "tokn". Did you mean "token"?'],
  ])('of openHoldfast is refused: %j', async (options, problem) => {
    await expect(openHoldfast(config, options as object)).rejects.toThrow(
      `openHoldfast: ${problem}`,
    )
  })

  test('of a gate is refused, whichever call it was given to', async () => {
    const holdfast = await openHoldfast(config)
    const whole = { ...claim, headSha: 'a'.repeat(40), eventAt: new Date(0) }
    const options: object = { onStoreEror: 'open' }
    await expect(holdfast.checkAndClaimRun(whole, options)).rejects.toThrow(
      'checkAndClaimRun: onStoreEror is not a known field. Did you mean "onStoreError"?',
    )
    const gate = await holdfast.checkAndClaimRun(whole)
    const refusals = [
      ['complete', () => gate.complete({ sumary: 'x' } as Completion), 'Did you mean "summary"?'],
      [
        'report',
        () => holdfast.reportRunStatus(gate.runKey, 'x', { tpye: 'a' } as object),
        '"type"?',
      ],
      ['publish', () => gate.publish('a', { chanel: 'github-label' } as never), '"channel"?'],
      [
        'publish of a channel',
        () => gate.publish('a', { channel: 'github-comment', bdoy: 'x' } as never),
        'publish: body is required; bdoy is not a known field. Did you mean "body"?',
      ],
      ['publish nothing', () => gate.publish('a', undefined as never), 'publish: the argument'],
      [
        'purge',
        () => holdfast.purgeOldRuns({ retentionDays: 3 } as never),
        'purgeOldRuns: retentionDays must be a number of days',
      ],
    ] as const
    for (const [what, call, problem] of refusals) {
      await expect(call(), what).rejects.toThrow(InvalidInputError)
      await expect(call(), what).rejects.toThrow(problem)
    }
    await holdfast.close()
  })
})

test('a refusal begins with the name of the call', async () => {
  const holdfast = await openHoldfast({ databaseUrl: 'sqlite::memory:' })
  const whole = { ...claim, headSha: 'a'.repeat(40), eventAt: new Date(0) }
  const gate = await holdfast.checkAndClaimRun(whole)
  const wrong = { sumary: 'x' } as Completion
  const callNamed = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'it was accepted',
      (error: unknown) => /^[\w.]+:/.exec((error as Error).message)?.[0] ?? '',
    )
  expect(await callNamed(gate.complete(wrong))).toBe('gate.complete:')
  expect(await callNamed(holdfast.completeRun(gate.runKey, wrong))).toBe('completeRun:')
  expect(await callNamed(gate.report(''))).toBe('gate.report:')
  expect(await callNamed(holdfast.reportRunStatus(gate.runKey, ''))).toBe('reportRunStatus:')
  expect(await callNamed(gate.publish('a', {} as never))).toBe('gate.publish:')
  expect(await callNamed(gate.publish('anchor', {} as never))).toBe('gate.publish:')
  await holdfast.close()
})

test('without a configuration the defaults apply, and no config file is read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-library-'))
  writeFileSync(join(folder, 'holdfast.config.ts'), "throw new Error('it was read')")
  const cwd = vi.spyOn(process, 'cwd').mockReturnValue(folder)
  try {
    const holdfast = await openHoldfast()
    await holdfast.close()
  } finally {
    cwd.mockRestore()
    rmSync(folder, { recursive: true })
  }
})

describe('what a run publishes', () => {
  const status = { channel: 'github-status', context: 'ci', state: 'success' } as const
  const url = 'https://ci.example/1'

  test('is spelled in camelCase, also in a list, and stored as over HTTP', () => {
    expect(checkOutput('gate.publish', 'a', { ...status, targetUrl: url })).toMatchObject({
      target_url: url,
    })
    const comments = [{ path: 'a.ts', line: 3, startLine: 1, body: 'Hm.' }]
    const review = { channel: 'github-review', body: 'x', comments } as const
    expect(checkOutput('gate.publish', 'b', review)).toMatchObject({
      comments: [{ start_line: 1 }],
    })
  })

  test.each([
    [{ ...status, targetUrl: 'ftp://a' }, 'targetUrl', 'must be an http or https URL'],
    [{ ...status, targetUr: url }, 'targetUr', 'is not a known field. Did you mean "targetUrl"?'],
    [
      {
        channel: 'github-review',
        body: 'x',
        comments: [{ path: 'a', line: 3, startLine: 5, body: 'y' }],
      },
      'comments.0.startLine',
      'must be before line; leave it out for a single line',
    ],
  ])('is refused with the same spelling: %j', (output, field, problem) => {
    const refusal = refusalOf(() => checkOutput('gate.publish', 'a', output as Output))
    expect(refusal).toMatchObject({ field, message: `gate.publish: ${field} ${problem}` })
  })
})
