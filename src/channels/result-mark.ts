/**
 * The result mark: an HTML comment that says which commits a comment or review has a result for.
 *
 *   <!-- holdfast:result TYPE base-SHA:head-SHA … -->
 *
 * It answers one question without a store: was the result for these commits published already? The
 * marker (marker.ts) cannot: an anchor keeps its marker for as long as its pull request lives.
 *
 * What must hold: it is not signed, because whoever has no store has no key. So it counts only
 * together with our author (authors.ts), for anybody may write it. Of several the last one counts:
 * ours stands behind all text from outside, and what we make safe can carry none.
 */

export interface ResultMark {
  readonly type: string
  /** As runs name them within their pull request. */
  readonly pairs: readonly string[]
}

const sha = '[0-9a-f]{40}(?:[0-9a-f]{24})?'
const form = new RegExp(
  `<!-- holdfast:result ([a-z][a-z0-9._-]{0,63})((?: base-${sha}:head-${sha}){1,100}) -->`,
  'g',
)

/** Empty where there is no result to speak of. */
export function resultMark({ type, pairs }: ResultMark): string {
  return pairs.length === 0 ? '' : `<!-- holdfast:result ${[type, ...pairs].join(' ')} -->`
}

export function withResultMark(text: string, mark: string): string {
  return mark === '' ? text : `${text}\n\n${mark}`
}

export function readResultMark(body: string): ResultMark | null {
  const [, type, pairs] = [...body.matchAll(form)].at(-1) ?? []
  return type === undefined || pairs === undefined
    ? null
    : { type, pairs: pairs.trimStart().split(' ') }
}
