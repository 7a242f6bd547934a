/** Accounts, their roles, and the state of the limits. */
import { limitKeyOf } from '../auth.ts'
import { privateUserJson, publicUserJson, userJson } from '../json/user-json.ts'
import { forbidden, notFound, Refusal } from '../refusal.ts'
import { hasRole, roleOf } from '../state/repositories.ts'
import { repositoryOf } from './resources.ts'
import type { Route } from './route.ts'

export const userRoutes: readonly Route[] = [
  {
    route: 'GET /user',
    docs: 'users/users#get-the-authenticated-user',
    handle: ({ world, identity }) => {
      if (identity.kind === 'account')
        return { status: 200, body: privateUserJson(world, identity.user) }
      if (identity.kind === 'stranger')
        throw new Refusal(401, { message: 'Requires authentication' })
      throw forbidden('Resource not accessible by integration')
    },
  },
  {
    route: 'GET /users/{username}',
    docs: 'users/users#get-a-user',
    handle: ({ world, params }) => {
      const user = world.users.get((params['username'] ?? '').toLowerCase())
      if (user === undefined) throw notFound()
      return { status: 200, body: publicUserJson(world, user) }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/collaborators/{username}/permission',
    docs: 'collaborators/collaborators#get-repository-permissions-for-a-user',
    handle: (call) => {
      const { world, params } = call
      const repository = repositoryOf(call, { permission: ['metadata'], access: 'read' })
      const user = world.users.get((params['username'] ?? '').toLowerCase())
      if (user === undefined) throw notFound()
      const role = roleOf(world, repository, user)
      const has = (least: Parameters<typeof hasRole>[1]): boolean => hasRole(role, least)
      return {
        status: 200,
        body: {
          // GitHub's older field: maintain is shown as write, triage as read.
          permission: has('admin')
            ? 'admin'
            : has('write')
              ? 'write'
              : has('read')
                ? 'read'
                : 'none',
          role_name: role,
          user: {
            ...userJson(user),
            permissions: {
              admin: has('admin'),
              maintain: has('maintain'),
              push: has('write'),
              triage: has('triage'),
              pull: has('read'),
            },
            role_name: role,
          },
        },
      }
    },
  },
  {
    route: 'GET /rate_limit',
    docs: 'rate-limit/rate-limit#get-rate-limit-status-for-the-authenticated-user',
    handle: ({ limits, identity }) => {
      const core = limits.quota(limitKeyOf(identity))
      const { reset } = core
      const unused = (limit: number) => ({ limit, remaining: limit, used: 0, reset })
      return {
        status: 200,
        body: { resources: { core, search: unused(30), graphql: unused(5000) }, rate: core },
      }
    },
  },
]
