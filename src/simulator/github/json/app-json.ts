/** The App, its installations and their tokens, as GitHub writes them. */
import type { App, Installation, Token } from '../state/apps.ts'
import type { World } from '../state/world.ts'
import { apiUrl, nodeId, siteUrl, type Json } from './json.ts'
import { repositoryJson } from './repository-json.ts'
import { userJson } from './user-json.ts'

export function appJson(world: World, app: App): Json {
  return {
    id: app.id,
    client_id: app.clientId,
    slug: app.slug,
    node_id: nodeId('A', app.id),
    owner: userJson(app.owner),
    name: app.name,
    description: '',
    external_url: 'https://example.com',
    html_url: `${siteUrl}/apps/${app.slug}`,
    created_at: world.stamp(app.owner.createdAt),
    updated_at: world.stamp(app.owner.createdAt),
    permissions: app.permissions,
    events: app.events,
  }
}

export function installationJson(world: World, app: App, installation: Installation): Json {
  const { id, account } = installation
  return {
    id,
    client_id: app.clientId,
    account: userJson(account),
    repository_selection: 'all',
    access_tokens_url: `${apiUrl}/app/installations/${id}/access_tokens`,
    repositories_url: `${apiUrl}/installation/repositories`,
    html_url: `${siteUrl}/organizations/${account.login}/settings/installations/${id}`,
    app_id: app.id,
    app_slug: app.slug,
    target_id: account.id,
    target_type: account.type,
    permissions: app.permissions,
    events: app.events,
    created_at: world.stamp(installation.createdAt),
    updated_at: world.stamp(installation.createdAt),
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    suspended_by: null,
    suspended_at: null,
  }
}

export function tokenJson(world: World, token: Token): Json {
  const repositories = [...(token.repositories ?? [])].flatMap((id) => {
    const repository = world.repositories.get(id)
    return repository === undefined ? [] : [repositoryJson(world, repository)]
  })
  return {
    token: token.text,
    expires_at: world.stamp(token.expiresAt ?? world.nowMs()),
    permissions: token.permissions,
    repository_selection: token.repositories === null ? 'all' : 'selected',
    ...(token.repositories !== null && { repositories }),
  }
}
