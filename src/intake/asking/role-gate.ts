/**
 * Checks who may start a run type that requires a role. The payload does not prove the role, so
 * GitHub is asked, after the webhook was answered. If GitHub does not answer, `refuseSender`
 * rejects, and the webhook is tried again later.
 */
import type { Role } from '../../domain/role.ts'
import { reachesRole } from '../../domain/role.ts'
import type { GitHub } from '../../github.ts'
import type { EventFacts } from '../events/webhook-event.ts'

export interface Refusal {
  readonly reason: string
  readonly detail: string
}

export type RoleSource = Pick<GitHub, 'roleOf'>

/** Null when the sender has the role. */
export async function refuseSender(
  { sender, repo, repoId }: EventFacts,
  requiredRole: Role,
  roles: RoleSource | null,
): Promise<Refusal | null> {
  if (sender === null || repo === null) {
    return { reason: 'sender-unknown', detail: 'the event names no account that still exists' }
  }
  const { login } = sender
  if (sender.type === 'Bot') {
    return { reason: 'sender-is-bot', detail: `${login} is a bot and has no role` }
  }
  if (roles === null) {
    return { reason: 'role-unknown', detail: 'the sandbox’s simulated GitHub knows no roles' }
  }
  const role = await roles.roleOf({ repo, repoGithubId: repoId }, login)
  switch (role) {
    case 'none':
      return { reason: 'sender-not-member', detail: `${login} is not a member of ${repo}` }
    case 'no-such-user':
      return { reason: 'sender-unknown', detail: `GitHub does not know ${login}` }
    case 'cannot-ask':
      return { reason: 'role-unknown', detail: `our credentials may not see roles in ${repo}` }
    default:
      return reachesRole(role, requiredRole)
        ? null
        : {
            reason: 'sender-role',
            detail: `${login} has the role ${role}; ${requiredRole} is needed`,
          }
  }
}
