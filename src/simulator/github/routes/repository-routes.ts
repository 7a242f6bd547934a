/** A repository by its name or its id. */
import { fullRepositoryJson } from '../json/repository-json.ts'
import { notFound } from '../refusal.ts'
import { fullNameOf, hasRole, roleOf } from '../state/repositories.ts'
import { repositoryOf } from './resources.ts'
import type { Call, Reply, Route } from './route.ts'

export const repositoryRoutes: readonly Route[] = [
  {
    route: 'GET /repos/{owner}/{repo}',
    docs: 'repos/repos#get-a-repository',
    handle: showRepository,
  },
  {
    route: 'GET /repositories/{id}',
    docs: 'repos/repos#get-a-repository',
    handle: (call) => {
      const repository = call.world.repositories.get(Number(call.params['id']))
      if (repository === undefined) throw notFound()
      const [owner = '', repo = ''] = fullNameOf(repository).split('/')
      return showRepository({ ...call, params: { owner, repo } })
    },
  },
]

function showRepository(call: Call): Reply {
  const { world, identity } = call
  const repository = repositoryOf(call, { permission: ['metadata'], access: 'read' })
  const role =
    identity.kind === 'account'
      ? roleOf(world, repository, identity.user)
      : identity.kind === 'installation'
        ? 'write'
        : 'read'
  const permissions = {
    admin: hasRole(role, 'admin'),
    maintain: hasRole(role, 'maintain'),
    push: hasRole(role, 'write'),
    triage: hasRole(role, 'triage'),
    pull: hasRole(role, 'read'),
  }
  return { status: 200, body: fullRepositoryJson(world, repository, permissions) }
}
