// Goal: another secret at GitHub than here is seen, and refusals that are over are no alarm.
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
  ['nothing came', [], null, 'ok', /No webhook has arrived yet./],
  [
    'all were refused',
    [refused(now - minute)],
    null,
    'problem',
    /in the last day, the last from 192\.0\.2\.7 .*None was ever/,
  ],
  [
    'refused since the last good one',
    [refused(now - minute)],
    now - 2 * minute,
    'warning',
    /None was accepted since/,
  ],
  [
    'put right since',
    [refused(now - 2 * minute)],
    now - minute,
    'ok',
    /accepted at .* after some with a wrong signature/,
  ],
  ['over a day ago', [refused(now - 25 * 60 * minute)], null, 'ok', /No webhook/],
])('%s', (_name, rows, acceptedAt, level, told) => {
  const [finding] = checkSignatures(judgeSignatures(rows, acceptedAt, now))
  expect(finding).toMatchObject({ level, detail: expect.stringMatching(told) })
  if (level !== 'ok') expect(finding?.remedy).toMatch(/same secret .* GITHUB_WEBHOOK_SECRET/)
})
