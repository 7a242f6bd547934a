/** How clauses become sentences, whatever mark a clause brings with it. */

const endsItself = /[.?!…]$/

/** With a full stop, unless it ends in a mark of its own. */
export const sentence = (words: string): string => (endsItself.test(words) ? words : `${words}.`)

/** Side by side; a question ends where it ends. */
export const clauses = (parts: readonly string[]): string =>
  parts.map((part, i) => `${between(parts[i - 1])}${part}`).join('')

function between(before: string | undefined): string {
  if (before === undefined) return ''
  return before.endsWith('?') ? ' ' : '; '
}
