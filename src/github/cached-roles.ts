/**
 * Keeps roles for a few minutes: a busy thread asks about the same people again and again. A
 * missing role is kept for less time, because a person grants it and then tries again at once.
 */
import type { Clock } from '../clock.ts'
import type { GitHub, RoleAnswer } from '../github.ts'
import { TimedCache } from './timed-cache.ts'

const keptMs = 5 * 60_000
const absenceKeptMs = 60_000

export type RoleSource = Pick<GitHub, 'roleOf'>

export function cachedRoles(source: RoleSource, clock: Clock): RoleSource {
  const cache = new TimedCache<RoleAnswer>(clock)
  return {
    roleOf: (repository, login) => {
      // Another repository may have this name now, but never this id.
      const place = repository.repoGithubId ?? repository.repo
      // Names contain no blanks, and GitHub ignores their case.
      return cache.get(`${place} ${login}`.toLowerCase(), async () => {
        const value = await source.roleOf(repository, login)
        const isAbsent = value === 'none' || value === 'no-such-user'
        return { value, keepMs: isAbsent ? absenceKeptMs : keptMs }
      })
    },
  }
}
