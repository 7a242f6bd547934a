/**
 * Reads a query string. A text that is not valid percent-encoding becomes null and a repeated name
 * an array, neither of which any parameter may be: both are then refused under their name.
 */
export type Query = Record<string, string | string[] | null>

export function parseQuery(text: string): Query {
  const query = Object.create(null) as Query
  for (const part of text.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const rawName = at === -1 ? part : part.slice(0, at)
    const name = decode(rawName) ?? rawName
    const value = decode(at === -1 ? '' : part.slice(at + 1))
    query[name] = name in query ? [] : value
  }
  return query
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}
