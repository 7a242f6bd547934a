/**
 * A label whose values come from outside. Each value is a time series for as long as the process
 * lives, so there may only be so many; whatever comes after them is `other`.
 */
const valuesMax = 50
const lengthMax = 64

export function boundedLabel(): (value: string) => string {
  const known = new Set<string>()
  return (value) => {
    if (known.has(value)) return value
    if (known.size >= valuesMax || value.length > lengthMax) return 'other'
    known.add(value)
    return value
  }
}
