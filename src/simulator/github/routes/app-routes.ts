/** Routes of the App: the App itself, its installations and their tokens. */
import { appJson, installationJson, tokenJson } from '../json/app-json.ts'
import { pageOf } from '../paging.ts'
import { notFound, Refusal, unprocessable } from '../refusal.ts'
import {
  addInstallationToken,
  includes,
  installationOf,
  type App,
  type Installation,
  type Permissions,
} from '../state/apps.ts'
import { findRepository } from '../state/repositories.ts'
import type { World } from '../state/world.ts'
import { fieldsOf } from './fields.ts'
import { redirectTo } from './resources.ts'
import type { Call, Route } from './route.ts'

function appOf({ identity }: Call): App {
  if (identity.kind === 'app') return identity.app
  throw new Refusal(401, { message: 'A JSON web token could not be decoded' })
}

export const appRoutes: readonly Route[] = [
  {
    route: 'GET /app',
    docs: 'apps/apps#get-the-authenticated-app',
    handle: (call) => ({
      status: 200,
      body: {
        ...appJson(call.world, appOf(call)),
        installations_count: call.world.installations.size,
      },
    }),
  },
  {
    route: 'GET /app/installations',
    docs: 'apps/apps#list-installations-for-the-authenticated-app',
    handle: (call) => {
      const app = appOf(call)
      const { items, headers } = pageOf(call.request, [...call.world.installations.values()])
      const body = items.map((installation) => installationJson(call.world, app, installation))
      return { status: 200, body, headers }
    },
  },
  {
    route: 'GET /repos/{owner}/{repo}/installation',
    docs: 'apps/apps#get-a-repository-installation-for-the-authenticated-app',
    handle: (call) => {
      const { world, params } = call
      const app = appOf(call)
      const found = findRepository(world, `${params['owner'] ?? ''}/${params['repo'] ?? ''}`)
      if (found === null || found.repository.restricted) throw notFound()
      if (found.isFormerName) throw redirectTo(call, found.repository)
      const installation = installationOf(world, found.repository)
      if (installation === null) throw notFound()
      return { status: 200, body: installationJson(world, app, installation) }
    },
  },
  {
    route: 'POST /app/installations/{installation_id}/access_tokens',
    docs: 'apps/apps#create-an-installation-access-token-for-an-app',
    handle: (call) => {
      const { world, params } = call
      const app = appOf(call)
      const installation = world.installations.get(Number(params['installation_id']))
      if (installation === undefined) throw notFound()
      const token = addInstallationToken(world, app, installation, {
        repositories: askedRepositories(call, installation),
        permissions: askedPermissions(call, app),
      })
      return { status: 201, body: tokenJson(world, token) }
    },
  },
]

/** Null for all repositories. */
function askedRepositories(call: Call, { account }: Installation): ReadonlySet<number> | null {
  const { repositories: names, repository_ids: ids } = fieldsOf(call)
  if (!Array.isArray(names) && !Array.isArray(ids)) return null
  const wanted = [
    ...(Array.isArray(names) ? names.map((name) => idNamed(call.world, account.login, name)) : []),
    ...(Array.isArray(ids) ? ids.map((id) => Number(id)) : []),
  ]
  const known = wanted.map((id) => call.world.repositories.get(id))
  const isReached = (each: (typeof known)[number]): boolean =>
    each !== undefined && each.owner.id === account.id && !each.restricted
  if (!known.every(isReached)) {
    throw unprocessable(
      'There is at least one repository that does not exist or is not accessible to the parent ' +
        'installation.',
    )
  }
  return new Set(wanted)
}

function idNamed(world: World, owner: string, name: unknown): number {
  return findRepository(world, `${owner}/${String(name)}`)?.repository.id ?? Number.NaN
}

function askedPermissions(call: Call, app: App): Permissions {
  const { permissions } = fieldsOf(call)
  if (typeof permissions !== 'object' || permissions === null) return app.permissions
  const asked = Object.entries(permissions as Record<string, string>)
  if (!asked.every(([name, level]) => includes(app.permissions, name, level))) {
    throw unprocessable('The permissions requested are not granted to this installation.')
  }
  return { metadata: 'read', ...Object.fromEntries(asked) }
}
