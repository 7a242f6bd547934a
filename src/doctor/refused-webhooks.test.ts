// Goal: doctor sees that GitHub has another secret, and gives no alarm about old refusals.
import { expect, it } from 'vitest'
import type { AuditRow } from '../domain/audit.ts'
import { judgeSignatures } from '../audit/refused-signatures.ts'
import { checkSignatures } from './refused-webhooks.ts'

const now = Date.parse('2026-01-31T12:00:00Z')
const minute = 60_000

function refused(at: number): AuditRow {
  return { at, data: { address: '192.0.2.7', what: 'signature', count: 3 } } as unknown as AuditRow
}

it.each<[string, AuditRow[], number | null, string, RegExp]>([
  ['no webhook came', [], null, 'ok', /No webhook has arrived yet./],
  [
    'all webhooks were refused',
    [refused(now - minute)],
    null,
    'problem',
    /in the last day, the last from 192\.0\.2\.7 .*None was ever/,
  ],
  [
    'webhooks were refused after the last accepted one',
    [refused(now - minute)],
    now - 2 * minute,
    'warning',
    /None was accepted since/,
  ],
  [
    'webhooks are accepted again',
    [refused(now - 2 * minute)],
    now - minute,
    'ok',
    /accepted at .* after some with a wrong signature/,
  ],
  [
    'the last refusal was more than a day ago',
    [refused(now - 25 * 60 * minute)],
    null,
    'ok',
    /No webhook/,
  ],
])('%s', (_name, rows, acceptedAt, level, detail) => {
  const [finding] = checkSignatures(judgeSignatures(rows, acceptedAt, now))
  expect(finding).toMatchObject({ level, detail: expect.stringMatching(detail) })
  if (level !== 'ok') expect(finding?.remedy).toMatch(/same secret .* GITHUB_WEBHOOK_SECRET/)
})
