/** Finds Redis' server program on the PATH. Only a version that Holdfast recommends counts. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export const oldestVersion = '6.2'

/** The path of the program, or null if there is none. */
export function findRedisServer(path = process.env['PATH'] ?? ''): string | null {
  const programs = path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'redis-server'))
  return programs.find(isRecentServer) ?? null
}

function isRecentServer(program: string): boolean {
  if (!existsSync(program)) return false
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const [, major = '0', minor = '0'] = /v=(\d+)\.(\d+)/.exec(stdout) ?? []
  return status === 0 && Number(major) * 100 + Number(minor) >= 602
}
