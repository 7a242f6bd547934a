/**
 * Cuts secrets out of a finished log line, wherever in it they stand: in a field we know, in the
 * text of an error from elsewhere, in a URL.
 *
 * What must hold: a line of JSON stays one. So nothing is cut that could hold half of an escape or
 * the quote at the end of a text.
 */
import { hideForms, tokenForms, type SecretForm } from '../../texts/hide-secrets.ts'

/** A character inside a JSON text, as it is written: an escape is one. */
const character = String.raw`(?:\\.|[^"\\])`
const pemEnd = '-----END [A-Z ]*PRIVATE KEY-----'

const kinds: readonly SecretForm[] = [
  ...tokenForms,
  // Up to its end, or to the end of the text that was cut short.
  {
    form: new RegExp(`-----BEGIN [A-Z ]*PRIVATE KEY-----${character}*?(?:${pemEnd}|(?="))`, 'g'),
    shown: '(hidden private key)',
  },
  { form: /\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{6,}/gi, shown: '$1 (hidden)' },
  // A password may have an @ of its own: the last one before the host counts.
  { form: /(:\/\/[^\s:/?#@"\\]*):(?:\\.|[^\s/"\\])*@/g, shown: '$1:(hidden)@' },
  { form: /\b((?:password|secret|token)=)[^\s&#"\\]+/gi, shown: '$1(hidden)' },
]

export function maskSecrets(line: string): string {
  return hideForms(line, kinds)
}
