/** What all GitHub objects have: addresses below one API and one site, and a node id. */
export type Json = Record<string, unknown>

export const apiUrl = 'https://api.github.com'
export const siteUrl = 'https://github.com'

/** The GraphQL id of the object. Its form differs from GitHub's, but it is just as unique. */
export const nodeId = (prefix: string, id: number): string =>
  `${prefix}_${Buffer.from(String(id)).toString('base64url')}`

export const noReactions = (url: string): Json => ({
  url: `${url}/reactions`,
  total_count: 0,
  '+1': 0,
  '-1': 0,
  laugh: 0,
  hooray: 0,
  confused: 0,
  heart: 0,
  rocket: 0,
  eyes: 0,
})
