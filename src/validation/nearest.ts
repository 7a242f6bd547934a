/**
 * "Did you mean …?": finds the right name that somebody most likely meant, and suggests it.
 *
 * A missing or extra letter, or two swapped ones, cost 1 and a wrong letter costs 2, so that a
 * shortened name (`DB_URL`) is nearer to its long form than to an unrelated name of its own length.
 * Case and punctuation do not count: `headSha` is `head_sha`. A wrong suggestion is worse than
 * none, so a text that is not near any name gets no suggestion.
 */

/** A longer text is not a mistyped name. */
const typedLengthMax = 100

export function editDistance(from: string, to: string): number {
  const a = from.toLowerCase()
  const b = to.toLowerCase()
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let cost = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 2),
      )
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2]
      if (swapped && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, at(beforePrevious, column - 2) + 1)
      }
      current.push(cost)
    }
    beforePrevious = previous
    previous = current
  }
  return at(previous, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}

/** If names are equally near, the one with the longest equal start. Null if no name is near. */
export function nearest(wrong: string, right: readonly string[]): string | null {
  if (wrong.length > typedLengthMax) return null
  const typed = lettersOf(wrong)
  const common = startOfAll(right)
  let best: string | null = null
  let bestDistance = Number.POSITIVE_INFINITY
  for (const name of right) {
    const letters = lettersOf(name)
    const alike = sharedStart(typed, letters)
    const distance = editDistance(typed, letters) - alike / 1000
    if (distance < bestDistance && isNear(typed, letters, common)) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** A start that all names have, such as HOLDFAST_, is not compared. */
function isNear(typed: string, name: string, common: number): boolean {
  const distance = editDistance(typed, name)
  const given = typed.length - common
  const longest = Math.max(typed.length, name.length) - common
  if (given <= 0 || longest <= 3) return distance <= (given <= 0 ? 0 : 1)
  if (distance <= Math.max(2, longest / 3)) return true
  // Another form of the same word has another ending: `delivery` for `deliveries`.
  if (sharedStart(typed, name) - common >= (longest * 2) / 3) return true
  // Only letters left out: `DB_URL` for `DATABASE_URL`.
  const isShortened = distance === name.length - typed.length && typed[common] === name[common]
  return isShortened && given >= longest * 0.4
}

const lettersOf = (name: string): string => name.replaceAll(/[_\-.]/g, '').toLowerCase()

/** The letters of the whole words that all names begin with. */
function startOfAll(names: readonly string[]): number {
  const [first = '', ...others] = names
  if (others.length === 0) return 0
  const length = Math.min(...others.map((name) => sharedStart(first, name)))
  return lettersOf(first.slice(0, length).replace(/[^_\-.]*$/, '')).length
}

function sharedStart(left: string, right: string): number {
  let length = 0
  while (length < left.length && left[length] === right[length]) length++
  return length
}

/** A question that follows the problem; empty if no name is near. */
export function didYouMean(wrong: string, right: readonly string[]): string {
  const meant = nearest(wrong, right)
  return meant === null ? '' : `Did you mean ${JSON.stringify(meant)}?`
}

/** The letters of a value that are enough to tell which one was meant. */
const startLength = 3

/**
 * The same for the few values of a field, which the problem lists. So it is enough that only one of
 * them begins like it: `success` for `succeeded`.
 */
export function didYouMeanValue(wrong: string, values: readonly string[]): string {
  const near = didYouMean(wrong, values)
  const start = lettersOf(wrong).slice(0, startLength)
  if (near !== '' || wrong.length > typedLengthMax || start.length < startLength) return near
  const alike = values.filter((value) => lettersOf(value).startsWith(start))
  return alike.length === 1 ? `Did you mean ${JSON.stringify(alike[0])}?` : ''
}

/** Like `didYouMean`, or all right names if none is near. `kind`: what they are, in the plural. */
export function didYouMeanOrAll(wrong: string, right: readonly string[], kind: string): string {
  return didYouMean(wrong, right) || `${kind}: ${right.join(', ')}`
}

/** The message about an unknown field. It follows the field's name. */
export function unknownField(name: string, known: readonly string[]): string {
  return ['is not a known field', didYouMean(name, known)].filter(Boolean).join('. ')
}
