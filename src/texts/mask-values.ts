/**
 * Replaces given secret values in a text by `***`. Unlike `hideSecrets` it knows the values and not
 * their form.
 *
 * What must hold:
 * - Every occurrence is replaced, also where two overlap.
 * - A value of several lines is also replaced line by line, because programs print and indent lines
 *   one at a time.
 * - Values shorter than four characters are left: they occur everywhere and protect nothing.
 * - The time grows with the length of the text, and not with its square.
 */

export const maskedText = '***'
const lengthMin = 4
/** Of the beginning of a value, at the end of a text that was cut off. */
const beginningMin = 8

/** For many texts with the same secrets. */
export function maskFor(values: readonly string[]): (text: string) => string {
  const patterns = patternsOf(values)
  return (text) => masked(text, patterns)
}

/** The same for a text that may end in the middle of a value. */
export function maskCutOffFor(values: readonly string[]): (text: string) => string {
  const patterns = patternsOf(values)
  return (text) => {
    const lengths = patterns.map((pattern) => beginningAtEnd(pattern, text))
    const longest = lengths.filter((length) => length >= beginningMin)
    return masked(text, patterns, text.length - Math.max(0, ...longest))
  }
}

/** The same in every text of a JSON value: strings, names, and numbers that show a secret. */
export function maskJson<T>(value: T, mask: (text: string) => string): T {
  if (typeof value === 'string') return mask(value) as T
  if (typeof value === 'number') {
    const shown = mask(String(value))
    return shown === String(value) ? value : (shown as T)
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const parts: unknown = value.map((part: unknown) => maskJson(part, mask))
    return parts as T
  }
  const entries: [string, unknown][] = Object.entries(value)
  const parts = entries.map(([name, part]) => [mask(name), maskJson(part, mask)])
  return Object.fromEntries(parts) as T
}

/** The longest text that may have to be replaced, in bytes. */
export function longestValueBytes(values: readonly string[]): number {
  return patternsOf(values).reduce((max, one) => Math.max(max, Buffer.byteLength(one)), 0)
}

function patternsOf(values: readonly string[]): string[] {
  const texts = values.flatMap((value) => [value, ...value.split(/\r\n|\r|\n/)])
  const written = texts.map((text) => text.trim()).flatMap((text) => [text, ...spellings(text)])
  return [...new Set(written)].filter(({ length }) => length >= lengthMin)
}

/** As it is written inside a JSON text and inside a URL. */
function spellings(text: string): string[] {
  return [JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())]
}

/** From `cutAt` on everything is replaced. */
function masked(text: string, patterns: readonly string[], cutAt = text.length): string {
  const found = patterns
    .filter((pattern) => text.includes(pattern))
    .flatMap((pattern) => endsOf(pattern, text).map((end) => [end - pattern.length, end] as const))
    .concat(cutAt < text.length ? [[cutAt, text.length]] : [])
    .toSorted(([one], [other]) => one - other)
  let shown = ''
  let done = 0
  for (const [start, end] of found) {
    // Where two overlap or touch, one mask stands for both.
    if (start > done || (start === 0 && done === 0)) shown += text.slice(done, start) + maskedText
    done = Math.max(done, end)
  }
  return shown + text.slice(done)
}

/** Where the occurrences end, overlapping ones too (Knuth, Morris and Pratt). */
function endsOf(pattern: string, text: string): number[] {
  const shorter = prefixLengths(pattern)
  const ends: number[] = []
  let matched = 0
  for (let at = 0; at < text.length; at += 1) {
    while (matched > 0 && pattern[matched] !== text[at]) matched = shorter[matched - 1] ?? 0
    if (pattern[matched] === text[at]) matched += 1
    if (matched < pattern.length) continue
    ends.push(at + 1)
    matched = shorter[matched - 1] ?? 0
  }
  return ends
}

/** How much of the pattern's beginning, but not all of it, the text ends with. */
function beginningAtEnd(pattern: string, text: string): number {
  const shorter = prefixLengths(pattern)
  let matched = 0
  for (let at = Math.max(0, text.length - pattern.length + 1); at < text.length; at += 1) {
    while (matched > 0 && pattern[matched] !== text[at]) matched = shorter[matched - 1] ?? 0
    if (pattern[matched] === text[at]) matched += 1
  }
  return matched
}

/** For each length: how much of the pattern's own start its end repeats. */
function prefixLengths(pattern: string): number[] {
  const lengths = [0]
  let matched = 0
  for (let at = 1; at < pattern.length; at += 1) {
    while (matched > 0 && pattern[matched] !== pattern[at]) matched = lengths[matched - 1] ?? 0
    if (pattern[matched] === pattern[at]) matched += 1
    lengths.push(matched)
  }
  return lengths
}
