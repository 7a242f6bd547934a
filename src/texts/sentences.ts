/** Joins clauses to sentences. A clause may already end with a mark such as a question mark. */

const endsItself = /[.?!…]$/

/** Adds a full stop, unless the text already ends with a mark. */
export const sentence = (words: string): string => (endsItself.test(words) ? words : `${words}.`)

/** Joins clauses with semicolons. After a question mark there is only a space. */
export const clauses = (parts: readonly string[]): string =>
  parts.map((part, i) => `${between(parts[i - 1])}${part}`).join('')

function between(before: string | undefined): string {
  if (before === undefined) return ''
  return before.endsWith('?') ? ' ' : '; '
}
