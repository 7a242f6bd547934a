/** What the GitHub token of a run may do, by the configuration of its type. */
import type { PermissionsConfig } from '../../config.ts'
import type { AccessLevel, GitHubPermissions } from '../../domain/github-permissions.ts'
import type { Settings } from '../settings.ts'

/** Only reading, because what a run writes is published by Holdfast. */
const defaultPermissions: GitHubPermissions = {
  contents: 'read',
  issues: 'read',
  pull_requests: 'read',
}

/**
 * GitHub gives a token for which no permissions are named all permissions of the App. So a
 * configuration that names none asks for the least.
 */
export function permissionSettings(
  config: PermissionsConfig = defaultPermissions,
): GitHubPermissions {
  const given: Readonly<Record<string, AccessLevel | undefined>> = config
  const named = Object.entries(given).flatMap(([name, level]) =>
    level === undefined ? [] : [[name, level] as const],
  )
  return named.length === 0 ? { metadata: 'read' } : Object.fromEntries(named)
}

/** A type that is not configured has the default permissions. */
export function permissionsOf(
  settings: Pick<Settings, 'runs'>,
): (type: string) => GitHubPermissions {
  return (type) => {
    const configured = Object.hasOwn(settings.runs, type) ? settings.runs[type] : undefined
    return configured?.permissions ?? defaultPermissions
  }
}
