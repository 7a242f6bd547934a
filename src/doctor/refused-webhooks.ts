/**
 * Webhooks that were refused because of their signature: the usual cause is another secret at
 * GitHub than here. GitHub's own record says the same for an App; with a token only the audit can.
 */
import type { Signatures } from '../audit/refused-signatures.ts'
import { fine, problem, warning, type Finding } from '../domain/finding.ts'
import { options } from '../settings/options.ts'

const check = 'inbox.signatures'

export function checkSignatures(signatures: Signatures): readonly Finding[] {
  const { refused, acceptedAt } = signatures
  const [last] = refused
  if (last === undefined) return [fine(check, acceptedWords(signatures))]
  const refusedText =
    'Webhooks with a wrong signature were refused in the last day, the last from ' +
    `${String(last.data['address'])} before ${new Date(last.at).toISOString()}.`
  const remedy =
    `Set the same secret in the webhook on GitHub and in ${options.githubWebhookSecrets.env}, ` +
    'then redeliver one there. With an App, holdfast catchup processes the refused ones.'
  if (acceptedAt === null) return [problem(check, `${refusedText} None was ever accepted.`, remedy)]
  return [warning(check, `${refusedText} None was accepted since.`, remedy)]
}

function acceptedWords({ acceptedAt, someBefore }: Signatures): string {
  if (acceptedAt === null) return 'No webhook has arrived yet.'
  const since = `The last webhook was accepted at ${new Date(acceptedAt).toISOString()}`
  return someBefore ? `${since}, after some with a wrong signature.` : `${since}.`
}
