/**
 * Checks for webhooks that were refused because of their signature. The usual cause is that GitHub
 * has another secret. For an App, GitHub's own record shows it too; with a token, only the audit.
 */
import type { Signatures } from '../audit/refused-signatures.ts'
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import { options } from '../settings/options/options.ts'

const check = 'inbox.signatures'

export function checkSignatures(signatures: Signatures): readonly Finding[] {
  const { refused, acceptedAt } = signatures
  const [last] = refused
  if (last === undefined) return [fine(check, acceptedText(signatures))]
  const refusedText =
    'Webhooks with a wrong signature were refused in the last day, the last from ' +
    `${String(last.data['address'])} before ${new Date(last.at).toISOString()}.`
  const remedy =
    `Set the same secret in the webhook on GitHub and in ${options.githubWebhookSecrets.env}, ` +
    'then redeliver one there. With an App, holdfast catchup processes the refused ones. In the ' +
    'sandbox, sign with the secret in the file webhook-secret of the data folder.'
  if (acceptedAt === null) return [problem(check, `${refusedText} None was ever accepted.`, remedy)]
  return [warning(check, `${refusedText} None was accepted since.`, remedy)]
}

function acceptedText({ acceptedAt, someBefore }: Signatures): string {
  if (acceptedAt === null) return 'No webhook has arrived yet.'
  const since = `The last webhook was accepted at ${new Date(acceptedAt).toISOString()}`
  return someBefore ? `${since}, after some with a wrong signature.` : `${since}.`
}
