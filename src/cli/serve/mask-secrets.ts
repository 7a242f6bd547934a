/**
 * Hides secrets in a finished log line, wherever they are: in a known field, in the text of an
 * error, in a URL.
 *
 * What must hold: a line of JSON stays valid JSON. So what is replaced never includes half of an
 * escape, or the quote at the end of a text.
 */
import { hideForms, tokenForms, type SecretForm } from '../../texts/hide-secrets.ts'

/** A character inside a JSON text, as it is written. An escape counts as one character. */
const character = String.raw`(?:\\.|[^"\\])`
const pemEnd = '-----END [A-Z ]*PRIVATE KEY-----'

const kinds: readonly SecretForm[] = [
  ...tokenForms,
  // Up to its end, or to the end of the text if that was cut.
  {
    form: new RegExp(`-----BEGIN [A-Z ]*PRIVATE KEY-----${character}*?(?:${pemEnd}|(?="))`, 'g'),
    shown: '(hidden private key)',
  },
  { form: /\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{6,}/gi, shown: '$1 (hidden)' },
  // A password may contain an @, so the last @ before the host counts.
  { form: /(:\/\/[^\s:/?#@"\\]*):(?:\\.|[^\s/"\\])*@/g, shown: '$1:(hidden)@' },
  { form: /\b((?:password|secret|token)=)[^\s&#"\\]+/gi, shown: '$1(hidden)' },
]

export function maskSecrets(line: string): string {
  return hideForms(line, kinds)
}
