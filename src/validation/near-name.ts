/**
 * The name that was probably meant; null when none is near. Punctuation does not count, so that
 * `headSha` is as near to `head_sha` as can be.
 */
import { editDistance, nearest } from '../settings/nearest.ts'

const plain = (name: string): string => name.replaceAll(/[_-]/g, '')

export function nearName(wrong: string, right: readonly string[]): string | null {
  const best = nearest(wrong, right)
  if (best === null || wrong.length > 100) return null
  const distance = editDistance(plain(wrong), plain(best))
  return distance * 2 <= Math.max(wrong.length, best.length) ? best : null
}

/** Of a name that nothing has, to be read after it. */
export function unknownMessage(name: string, known: readonly string[]): string {
  const right = nearName(name, known)
  return right === null ? 'is not known here' : `is not known here; did you mean ${right}?`
}
