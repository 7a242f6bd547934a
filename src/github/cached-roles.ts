/**
 * Keeps roles for a few minutes: a busy thread asks about the same people again and again. A
 * missing role is kept for less time, because a person grants it and then tries again at once.
 */
import type { Clock } from '../clock.ts'
import type { GitHub, RoleAnswer } from '../github.ts'
import { Remembered } from './remembered.ts'

const keptMs = 5 * 60_000
const absenceKeptMs = 60_000

export type RoleSource = Pick<GitHub, 'roleOf'>

export function cachedRoles(source: RoleSource, clock: Clock): RoleSource {
  const remembered = new Remembered<RoleAnswer>(clock)
  return {
    roleOf: (repository, login) => {
      // A name may be another repository's by now; its id is not.
      const place = repository.repoGithubId ?? repository.repo
      // Names contain no blanks, and GitHub ignores their case.
      return remembered.get(`${place} ${login}`.toLowerCase(), async () => {
        const value = await source.roleOf(repository, login)
        const isAbsent = value === 'none' || value === 'no-such-user'
        return { value, forMs: isAbsent ? absenceKeptMs : keptMs }
      })
    },
  }
}
