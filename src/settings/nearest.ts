/**
 * Which of the right names somebody most likely meant. A missing or extra letter, or two swapped
 * ones, cost 1 and a wrong letter costs 2, so that a shortened name (`DB_URL`) is nearer to its
 * long form than to an unrelated name of its own length. Case does not count. A name that has
 * little in common with any is a guess that would mislead, and none is named.
 */

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

/** Of equally near names the one that begins alike; null when none is near enough to be meant. */
export function nearest(wrong: string, right: readonly string[]): string | null {
  // Names are short; whoever sends a longer text has not mistyped one.
  const typed = wrong.slice(0, 200)
  const inAll = startOfAll(right)
  let best: string | null = null
  let bestDistance = Number.POSITIVE_INFINITY
  for (const name of right) {
    const alike = sharedStart(typed, name)
    const distance = editDistance(typed, name) - alike / 1000
    const longest = Math.max(typed.length, name.length)
    // Another form of the same word ends otherwise: `delivery` for `deliveries`.
    const isSameWord = alike - inAll >= ((longest - inAll) * 2) / 3
    const isNear = distance <= Math.max(2, longest / 3) || isSameWord
    if (isNear && distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** For messages: the name that was meant, or all there are. */
export function meantWords(wrong: string, right: readonly string[]): string {
  const meant = nearest(wrong, right)
  return meant === null ? `known are ${right.join(', ')}` : `the nearest right one is ${meant}`
}

/** How many letters all names begin with, such as HOLDFAST_: they tell nothing. */
function startOfAll(names: readonly string[]): number {
  const [first = '', ...others] = names
  if (others.length === 0) return 0
  return Math.min(...others.map((name) => sharedStart(first, name)))
}

function sharedStart(left: string, right: string): number {
  let length = 0
  while (length < left.length && left[length] === right[length]) length++
  return length
}
