/**
 * Hides secrets in texts that others will read, such as a log line or a comment. Secrets are
 * recognised by their form.
 *
 * What must hold:
 * - The forms of common keys are defined only here.
 * - A token's form has no quote, backslash or white space, so hiding it does not break JSON or
 *   Markdown.
 * - A form can begin only where a word or an escape ends. So the time grows with the length of the
 *   text, and not with its square.
 * - In published text a secret is found as its reader sees it, however it is written in Markdown.
 */
import { joinedWords } from './invisible-text.ts'
import { shownText } from './shown-text.ts'

export interface SecretForm {
  readonly form: RegExp
  readonly shown: string
}

const shown = '$1(hidden)'
/**
 * An escape is not part of a word, although it ends in letters or digits. Examples are the line
 * break of a JSON text, a character in a URL, and a terminal colour without its invisible
 * character.
 */
const escape = [
  String.raw`\\[abefnrtv0]`,
  String.raw`\\x[0-9A-Fa-f]{2}`,
  String.raw`\\u[0-9A-Fa-f]{4}`,
  '%[0-9A-Fa-f]{2}',
  String.raw`\[[0-9;]{0,20}m`,
].join('|')
/** A token begins only here. After other characters it would be a part of a longer word. */
const startBehind = (word: string): string => `(?:(?<!${word})|(?<=${escape}))`
const start = startBehind('[A-Za-z0-9]')

function tokenForm(prefix: string, secret: string, from = start): SecretForm {
  return { form: new RegExp(`${from}(${prefix})${secret}`, 'g'), shown }
}

export const tokenForms: readonly SecretForm[] = [
  // GitHub: also the long tokens that end in a signed document with dots. And our own tokens.
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
  // Telegram bots: in URLs the word `bot` comes right before the number.
  { form: /(?<!\d)(\d{6,12}:)[\w-]{35}(?![\w-])/g, shown },
  // Addresses that are secrets: everybody who knows one can post there.
  { form: /(hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]+/gi, shown },
  { form: /(discord(?:app)?\.com\/api\/webhooks\/)[\w/-]+/gi, shown },
  // A signed token (JWT): header, content and signature.
  tokenForm('eyJ', String.raw`[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*`, startBehind(String.raw`[\w-]`)),
  // It must be long, because `sk-toolbar` is an ordinary word.
  tokenForm('sk-', String.raw`(?=[\w-]*\d)[\w-]{20,}`, startBehind(String.raw`[\w-]`)),
]

/** In prose an ordinary word can follow "bearer" or "basic". It is not a secret. */
const word = String.raw`[A-Za-z]?[a-z]+(?:[-/][a-z]+)*[.,;:!?]*(?![\w~+/=.-])`
const keyBlock = 'PRIVATE KEY(?: BLOCK)?-----'

const proseForms: readonly SecretForm[] = [
  ...tokenForms,
  // Up to its end, or to the end of the text if that was cut.
  {
    form: new RegExp(`-----BEGIN [A-Z ]*${keyBlock}[^]*?(?:-----END [A-Z ]*${keyBlock}|$)`, 'g'),
    shown: '(hidden private key)',
  },
  {
    form: new RegExp(String.raw`\b(Bearer|Basic) +(?!${word})[A-Za-z0-9._~+/=-]{6,}`, 'gi'),
    shown: '$1 (hidden)',
  },
  // A password may contain an @, so the last @ before the host counts.
  { form: /(:\/\/[^\s:/?#@]*):[^\s/]*@/g, shown: '$1:(hidden)@' },
  { form: /([?&][\w-]*(?:password|secret|token|key)=)(?!\(hidden\))[^\s&#)\]>"'`]+/gi, shown },
]

/** A shorter text across a mark is more likely prose, as in: `ghp_`-prefixed. */
const joinedMin = 20

/**
 * The reading that joins the most text goes first. Otherwise a shorter match would leave a part of
 * the secret visible.
 */
export function hideSecrets(text: string): string {
  const joined = hideShown(text, true, tokenForms, joinedMin)
  return hideForms(hideShown(joined, false, proseForms, 0), proseForms)
}

export function hideForms(text: string, forms: readonly SecretForm[]): string {
  return forms.reduce((hidden, { form, shown }) => hidden.replace(form, shown), joinedWords(text))
}

/** Finds secrets in the text as it is shown, and hides them in the text as it is written. */
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
