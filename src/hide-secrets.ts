/**
 * Secrets told by their form, and cut out of text that others will read: a log line, a comment.
 *
 * What must hold: a form that everybody's keys have is written down here alone. A token's form has
 * no quote, backslash or white space, so that cutting it out leaves JSON and Markdown what it was.
 */
export interface SecretForm {
  readonly form: RegExp
  readonly shown: string
}

export const tokenForms: readonly SecretForm[] = [
  // GitHub's, also the long ones that end in a signed document with dots; and our own.
  {
    form: /(?<![A-Za-z0-9])(gh[a-z]_|github_pat_|hf[lrt]_)[A-Za-z0-9_.-]{4,}/g,
    shown: '$1(hidden)',
  },
  { form: /(?<![A-Za-z0-9])(AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g, shown: '$1(hidden)' },
  { form: /(?<![A-Za-z0-9])(xox[a-z]-|xapp-)[A-Za-z0-9-]{8,}/g, shown: '$1(hidden)' },
  // Long, or it would be a word such as `sk-toolbar`.
  { form: /(?<![\w-])(sk-)(?=[\w-]*\d)[\w-]{20,}/g, shown: '$1(hidden)' },
]

/** In prose a bearer may be a bearer of something: a plain word after it is no secret. */
const word = String.raw`[A-Za-z]?[a-z]+(?:[-/][a-z]+)*[.,;:!?]*(?![\w~+/=.-])`

const proseForms: readonly SecretForm[] = [
  ...tokenForms,
  // Up to its end, or to the end of a text that was cut short.
  {
    form: /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
    shown: '(hidden private key)',
  },
  {
    form: new RegExp(String.raw`\b(Bearer|Basic) +(?!${word})[A-Za-z0-9._~+/=-]{6,}`, 'gi'),
    shown: '$1 (hidden)',
  },
  // A password may have an @ of its own: the last one before the host counts.
  { form: /(:\/\/[^\s:/?#@]*):[^\s/]*@/g, shown: '$1:(hidden)@' },
  { form: /([?&][\w-]*(?:password|secret|token|key)=)[^\s&#)\]>"'`]+/gi, shown: '$1(hidden)' },
]

export function hideSecrets(text: string): string {
  return hideForms(text, proseForms)
}

export function hideForms(text: string, forms: readonly SecretForm[]): string {
  return forms.reduce((hidden, { form, shown }) => hidden.replace(form, shown), text)
}
