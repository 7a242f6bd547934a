/**
 * Secrets that can be recognised by their form, cut out of text that others will read: a log line,
 * a comment.
 *
 * What must hold: the forms of common keys are written down here alone. A token's form has no
 * quote, backslash or white space, so that cutting it out leaves JSON and Markdown what it was.
 * Every form can begin only where a word or an escape ends, so that the time taken grows with the
 * text and not with its square. In text that is published a secret is found as its reader will see
 * it, however Markdown was made to spell it.
 */
import { joinedWords } from './invisible-text.ts'
import { shownText } from './shown-text.ts'

export interface SecretForm {
  readonly form: RegExp
  readonly shown: string
}

const shown = '$1(hidden)'
/**
 * An escape is no word, though it ends in letters or digits: the line break of a JSON text, a
 * character of a URL, what is left of a colour once its invisible character is gone.
 */
const escape = [
  String.raw`\\[abefnrtv0]`,
  String.raw`\\x[0-9A-Fa-f]{2}`,
  String.raw`\\u[0-9A-Fa-f]{4}`,
  '%[0-9A-Fa-f]{2}',
  String.raw`\[[0-9;]{0,20}m`,
].join('|')
/** What comes right before a token; behind anything else it is part of a longer word. */
const startBehind = (word: string): string => `(?:(?<!${word})|(?<=${escape}))`
const start = startBehind('[A-Za-z0-9]')

function tokenForm(prefix: string, rest: string, from = start): SecretForm {
  return { form: new RegExp(`${from}(${prefix})${rest}`, 'g'), shown }
}

export const tokenForms: readonly SecretForm[] = [
  // GitHub's, also the long ones that end in a signed document with dots; and our own.
  tokenForm('gh[a-z]_|github_pat_|hf[alrtw]_', String.raw`[A-Za-z0-9_.-]{4,}`),
  tokenForm('gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|ffct)-|gloas-', String.raw`[\w.-]{16,}`),
  tokenForm('AKIA|ASIA', '[A-Z0-9]{16}(?![A-Za-z0-9])'),
  tokenForm('npm_', '[A-Za-z0-9]{30,}'),
  tokenForm('pypi-', String.raw`[\w-]{40,}`),
  // Google: API keys, OAuth tokens, client secrets.
  tokenForm('AIza', String.raw`[\w-]{30,}`),
  tokenForm(String.raw`ya29\.`, String.raw`[\w.-]{20,}`),
  tokenForm('GOCSPX-', String.raw`[\w-]{20,}`),
  // Stripe: secret and restricted keys; `whsec_` signs webhooks for many services.
  tokenForm('[sr]k_(?:live|test)_', '[A-Za-z0-9]{10,}'),
  tokenForm('whsec_', '[A-Za-z0-9+/=_-]{16,}'),
  tokenForm('xox[a-z]-|xapp-', '[A-Za-z0-9-]{8,}'),
  tokenForm('dckr_pat_|dop_v1_|shpat_|lin_api_|hf_', String.raw`[\w-]{20,}`),
  tokenForm(String.raw`SG\.`, String.raw`[\w-]{16,}\.[\w-]{16,}`),
  tokenForm(String.raw`hvs\.`, String.raw`[\w-]{20,}`),
  // Telegram's bots: in its URLs the word `bot` stands right before the number.
  { form: /(?<!\d)(\d{6,12}:)[\w-]{35}(?![\w-])/g, shown },
  // Addresses that are secrets: whoever knows them may post.
  { form: /(hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]+/gi, shown },
  { form: /(discord(?:app)?\.com\/api\/webhooks\/)[\w/-]+/gi, shown },
  // A signed token (JWT): header, content and signature.
  tokenForm('eyJ', String.raw`[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*`, startBehind(String.raw`[\w-]`)),
  // Long, or it would be a word such as `sk-toolbar`.
  tokenForm('sk-', String.raw`(?=[\w-]*\d)[\w-]{20,}`, startBehind(String.raw`[\w-]`)),
]

/** In prose a bearer may be a bearer of something: a plain word after it is no secret. */
const word = String.raw`[A-Za-z]?[a-z]+(?:[-/][a-z]+)*[.,;:!?]*(?![\w~+/=.-])`
const keyBlock = 'PRIVATE KEY(?: BLOCK)?-----'

const proseForms: readonly SecretForm[] = [
  ...tokenForms,
  // Up to its end, or to the end of a text that was cut short.
  {
    form: new RegExp(`-----BEGIN [A-Z ]*${keyBlock}[^]*?(?:-----END [A-Z ]*${keyBlock}|$)`, 'g'),
    shown: '(hidden private key)',
  },
  {
    form: new RegExp(String.raw`\b(Bearer|Basic) +(?!${word})[A-Za-z0-9._~+/=-]{6,}`, 'gi'),
    shown: '$1 (hidden)',
  },
  // A password may have an @ of its own: the last one before the host counts.
  { form: /(:\/\/[^\s:/?#@]*):[^\s/]*@/g, shown: '$1:(hidden)@' },
  { form: /([?&][\w-]*(?:password|secret|token|key)=)(?!\(hidden\))[^\s&#)\]>"'`]+/gi, shown },
]

/** Shorter than this, what stands on both sides of a mark is more likely prose: `ghp_`-prefixed. */
const joinedMin = 20

/**
 * The longest reading goes first: what is cut out by a shorter one would leave the rest of a secret
 * standing.
 */
export function hideSecrets(text: string): string {
  const joined = hideShown(text, true, tokenForms, joinedMin)
  return hideForms(hideShown(joined, false, proseForms, 0), proseForms)
}

export function hideForms(text: string, forms: readonly SecretForm[]): string {
  return forms.reduce((hidden, { form, shown }) => hidden.replace(form, shown), joinedWords(text))
}

/** Cuts out of a written text what is a secret in the text as it is shown. */
function hideShown(
  written: string,
  joined: boolean,
  forms: readonly SecretForm[],
  lengthMin: number,
): string {
  const { text, writtenAt } = shownText(written, joined)
  if (text === written) return written
  const found = forms
    .flatMap(({ form, shown }) =>
      [...text.matchAll(form)]
        .filter(([whole]) => whole.length >= lengthMin)
        .map(({ 0: whole, 1: kept = '', index }) => {
          const [start, end] = writtenAt(index, index + whole.length)
          return { start, end, instead: shown.replace('$1', () => kept) }
        }),
    )
    .toSorted((one, other) => one.start - other.start)
  let hidden = ''
  let done = 0
  for (const { start, end, instead } of found) {
    if (start >= done) hidden += written.slice(done, start) + instead
    done = Math.max(done, end)
  }
  return hidden + written.slice(done)
}
