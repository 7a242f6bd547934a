/**
 * The result mark: an HTML comment that names the commits which a comment or review has a result
 * for.
 *
 *   <!-- holdfast:result TYPE base-SHA:head-SHA … -->
 *
 * It answers one question without a store: was the result for these commits already published? The
 * marker (marker.ts) cannot answer it, because an anchor keeps one marker for all runs of its pull
 * request.
 *
 * What must hold: the mark is not signed, because without a store there is no key. Anybody may
 * write one, so it counts only if our account is the author (`isByUs` in parts.ts). Of several
 * marks the last one counts. Holdfast's own mark comes after all text from outside, and safe text
 * contains no mark.
 */

export interface ResultMark {
  readonly type: string
  /** Pairs of base and head, as runs name them (`Run.pair`). */
  readonly pairs: readonly string[]
}

const sha = '[0-9a-f]{40}(?:[0-9a-f]{24})?'
const form = new RegExp(
  `<!-- holdfast:result ([a-z][a-z0-9._-]{0,63})((?: base-${sha}:head-${sha}){1,100}) -->`,
  'g',
)

/** Returns '' if there is no result. */
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
