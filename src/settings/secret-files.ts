/**
 * The files in which a server on SQLite keeps the secrets it made. They stand beside the database
 * and are in no copy of it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from './settings.ts'

export const secretFileNames = { admin: 'admin-token', webhook: 'webhook-secret' } as const

export function missingSecretFiles(settings: Settings): readonly string[] {
  return neededFiles(settings).filter((name) => !existsSync(join(settings.dataDir, name)))
}

/** Their paths, for whoever makes a copy. */
export function presentSecretFiles(settings: Settings): readonly string[] {
  const paths = Object.values(secretFileNames).map((name) => join(settings.dataDir, name))
  return paths.filter((path) => existsSync(path))
}

/** Those that a server with these settings reads; on PostgreSQL the admin token is given. */
function neededFiles({ database, adminToken, githubWebhookSecrets }: Settings): readonly string[] {
  const isMade = adminToken === null && database.kind === 'sqlite'
  return [
    ...(isMade ? [secretFileNames.admin] : []),
    ...(githubWebhookSecrets.length === 0 ? [secretFileNames.webhook] : []),
  ]
}
