/**
 * Finds PostgreSQL's server programs. On Debian they are not on the PATH, but in one folder per
 * major version; elsewhere pg_config names the folder, or initdb is on the PATH. Only a version
 * that Holdfast supports counts as found.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export const oldestSupportedMajor = 15

export interface BinaryPlaces {
  /** The folder that holds one folder per major version. */
  readonly versionsDir: string
  /** The value of a PATH variable. */
  readonly path: string
}

const machinePlaces = (): BinaryPlaces => ({
  versionsDir: '/usr/lib/postgresql',
  path: process.env['PATH'] ?? '',
})

/** The folder of the newest supported server programs, or null if there is none. */
export function findBinaries(places: BinaryPlaces = machinePlaces()): string | null {
  const candidates = [
    ...versionedFolders(places.versionsDir),
    ...folderByPgConfig(places.path),
    ...places.path.split(delimiter).filter((folder) => folder !== ''),
  ]
  return candidates.find(holdsSupportedServer) ?? null
}

function versionedFolders(versionsDir: string): string[] {
  if (!existsSync(versionsDir)) return []
  return readdirSync(versionsDir)
    .filter((name) => /^\d+$/.test(name))
    .sort((left, right) => Number(right) - Number(left))
    .map((name) => join(versionsDir, name, 'bin'))
}

function folderByPgConfig(path: string): string[] {
  const answer = spawnSync('pg_config', ['--bindir'], {
    encoding: 'utf8',
    env: { ...process.env, PATH: path },
  })
  return answer.status === 0 ? [answer.stdout.trim()] : []
}

function holdsSupportedServer(folder: string): boolean {
  const hasAll = ['initdb', 'postgres'].every((program) => existsSync(join(folder, program)))
  if (!hasAll) return false
  const answer = spawnSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
  const major = /(\d+)/.exec(answer.stdout)?.[1]
  return answer.status === 0 && Number(major) >= oldestSupportedMajor
}
