import { expect, test } from 'vitest'
import { z } from 'zod'
import { fromQuery, wholeNumber } from '../contract/fields.ts'
import { findingsOf } from './findings.ts'

const schema = z
  .strictObject({
    head_sha: z.string().regex(/^a+$/, 'must be a run of a'),
    kind: z.enum(['one', 'two']).optional(),
    error: z.union([z.string(), z.strictObject({ code: z.string() })]).optional(),
    inner: z.strictObject({ lease_ms: z.int() }).nullable().default(null),
    sure: z.literal(true).optional(),
  })
  .optional()

function problemsOf(data: unknown): string[] {
  const parsed = schema.safeParse(data)
  if (parsed.success) return []
  return findingsOf(schema, parsed.error.issues, data).map(
    ({ path, message, shape }) => `${path.join('.')} ${message}${shape ? ' (shape)' : ''}`,
  )
}

const right = { head_sha: 'a' }

test.each([
  [{}, ['head_sha is required (shape)']],
  [{ head_sha: 1 }, ['head_sha must be a string (shape)']],
  [{ head_sha: 'b' }, ['head_sha must be a run of a']],
  [{ ...right, kind: 'three' }, ['kind must be one or two']],
  [{ ...right, kind: 3 }, ['kind must be one or two (shape)']],
  [{ ...right, sure: false }, ['sure must be true']],
  [{ ...right, sure: 'yes' }, ['sure must be true (shape)']],
  [{ ...right, error: 5 }, ['error has the wrong type (shape)']],
  [{ ...right, error: { code: 5 } }, ['error.code must be a string (shape)']],
  [
    { ...right, error: { code: '', cod: '' } },
    ['error.cod is not a known field. Did you mean "code"? (shape)'],
  ],
  [{ ...right, inner: { lease_ms: 1.5 } }, ['inner.lease_ms must be a whole number (shape)']],
  [
    { ...right, inner: { lease_ms: 1, leaseMs: 1 } },
    ['inner.leaseMs is not a known field. Did you mean "lease_ms"? (shape)'],
  ],
  [{ ...right, headSha: 'a' }, ['headSha is not a known field. Did you mean "head_sha"? (shape)']],
  [{ ...right, colour: 'a' }, ['colour is not a known field (shape)']],
])('%j is reported as %j', (data, expected) => {
  expect(problemsOf(data)).toEqual(expected)
})

test.each(['x', '', 1.5, 0, 1001, Number.NaN])(
  '%j is reported with the allowed numbers',
  (limit) => {
    const schema = z.strictObject({ limit: fromQuery(wholeNumber(1, 1000)) })
    const parsed = schema.safeParse({ limit })
    const [finding] = findingsOf(schema, parsed.error?.issues ?? [], { limit })
    expect(finding?.message).toBe('must be a whole number from 1 to 1000')
  },
)

test('a thousand wrong names are not all reported', () => {
  const wrong = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`x${n}`, 1]))
  expect(problemsOf({ ...right, ...wrong })).toHaveLength(20)
})

test('a value that breaks two rules with the same words is reported once', () => {
  const data = { lease_ms: 1e30 }
  const form = z.strictObject({ lease_ms: wholeNumber(1000, 3_600_000) })
  const { error } = form.safeParse(data)
  expect(error?.issues).toHaveLength(2)
  expect(findingsOf(form, error?.issues ?? [], data)).toHaveLength(1)
})
