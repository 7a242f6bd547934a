/** What a token of GitHub may do: GitHub's names of permissions, each with its level. */

/** From the lowest to the highest. Each level includes the ones before it. */
export const accessLevels = ['read', 'write', 'admin'] as const
export type AccessLevel = (typeof accessLevels)[number]

export type GitHubPermissions = Readonly<Record<string, AccessLevel>>

/** As people read it: `contents: read, issues: write`. */
export function permissionWords(permissions: GitHubPermissions): string {
  return Object.entries(permissions)
    .map(([name, level]) => `${name}: ${level}`)
    .join(', ')
}
