/**
 * Roles, remembered for a few minutes: a busy thread asks about the same people again and again.
 * That somebody has no role is kept for less long, because that is what a person mends and then
 * tries at once.
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
      // No name can have a blank in it, and GitHub takes no notice of case in any.
      return remembered.get(`${place} ${login}`.toLowerCase(), async () => {
        const value = await source.roleOf(repository, login)
        const isAbsent = value === 'none' || value === 'no-such-user'
        return { value, forMs: isAbsent ? absenceKeptMs : keptMs }
      })
    },
  }
}
