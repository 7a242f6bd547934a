/** The permissions that a set-up needs on GitHub, and texts for findings about them. */
import {
  accessLevels,
  type AccessLevel,
  type GitHubPermissions,
} from '../../domain/github-permissions.ts'
import { warning, type Finding } from '../../domain/finding.ts'
import type { GitHubError } from '../errors.ts'

interface Need {
  readonly name: string
  /** What GitHub's settings call it. */
  readonly label: string
}

export const neededPermissions: readonly (Need & { readonly access: 'read' | 'write' })[] = [
  { name: 'pull_requests', label: 'Pull requests', access: 'write' },
  { name: 'issues', label: 'Issues', access: 'write' },
  { name: 'statuses', label: 'Commit statuses', access: 'write' },
  { name: 'checks', label: 'Checks', access: 'write' },
  { name: 'metadata', label: 'Metadata', access: 'read' },
  { name: 'contents', label: 'Contents', access: 'read' },
]

/** As GitHub's settings call an event or a permission: `pull_request` is "Pull request" there. */
export function settingLabel(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export const webhookPath = '/webhooks/github'
/** GitHub's words for the two levels of a permission. */
export const accessLabel: Readonly<Record<AccessLevel, string>> = {
  read: 'Read-only',
  write: 'Read and write',
  admin: 'Admin',
}

export function reachesAccess(given: string | undefined, needed: AccessLevel): boolean {
  const levels: readonly (string | undefined)[] = accessLevels
  return levels.indexOf(given) >= levels.indexOf(needed)
}

/** By run type, what the tokens of its runs may do. */
export type RunPermissions = Readonly<Record<string, GitHubPermissions>>

export interface RunNeed {
  readonly type: string
  readonly name: string
  readonly access: AccessLevel
}

/** What run types ask for beyond what Holdfast needs itself. */
export function runNeeds(types: RunPermissions): readonly RunNeed[] {
  const all = Object.entries(types).flatMap(([type, permissions]) =>
    Object.entries(permissions).map(([name, access]) => ({ type, name, access })),
  )
  return all.filter(({ name, access }) => {
    const own = neededPermissions.find((need) => need.name === name)
    return !reachesAccess(own?.access, access)
  })
}

/** A check that got no useful answer from GitHub. */
export function couldNotCheck(check: string, error: GitHubError): Finding {
  if (error.kind === 'rate_limited') {
    const until = new Date(error.until ?? 0).toISOString()
    const remedy = 'Nothing to fix: try again then. If it happens often, something asks too often.'
    return warning(check, `GitHub asked us to wait until ${until}.`, remedy)
  }
  const detail = `It could not be checked: ${error.message}`
  return warning(check, detail, `Try again; the request id is ${error.requestId}.`)
}

/** The address to set as the Webhook URL. */
export function webhookAddress(publicUrl: string | null): string {
  if (publicUrl === null)
    return `the address at which GitHub reaches this server, with ${webhookPath}`
  return `${publicUrl.replace(/\/+$/, '')}${webhookPath}`
}
