/**
 * Webhooks that were refused because of their signature: the usual cause is another secret at
 * GitHub than here. GitHub's own record says the same for an App; with a token only the audit can.
 */
import type { AuditRow } from '../domain/audit.ts'
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import { options } from '../settings/options.ts'

const check = 'inbox.signatures'
const dayMs = 24 * 60 * 60_000

/** `refusals` newest first; `acceptedAt` is when a webhook last came with a right signature. */
export function checkSignatures(
  refusals: readonly AuditRow[],
  acceptedAt: number | null,
  nowMs: number,
): readonly Finding[] {
  const recent = refusals.filter(
    ({ at, data }) => data['what'] === 'signature' && at > nowMs - dayMs,
  )
  const last = recent.find(({ at }) => acceptedAt === null || at > acceptedAt)
  if (last === undefined) return [fine(check, acceptedWords(acceptedAt, recent.length > 0))]
  const told =
    `webhooks with a wrong signature were refused, the last from ${String(last.data['address'])} ` +
    `before ${new Date(last.at).toISOString()}`
  const remedy =
    `Set the same secret in the webhook on GitHub and in ${options.githubWebhookSecrets.env}, ` +
    'then redeliver one there. What was refused: holdfast catchup takes it in for an App.'
  if (acceptedAt === null) return [problem(check, `${told}; none was ever accepted`, remedy)]
  return [warning(check, `${told}; none was accepted since`, remedy)]
}

function acceptedWords(acceptedAt: number | null, someRefused: boolean): string {
  if (acceptedAt === null) return 'no webhook has come yet'
  const since = `the last webhook was accepted at ${new Date(acceptedAt).toISOString()}`
  return someRefused ? `${since}, after some with a wrong signature` : since
}
