/** An account, as GitHub writes it: short inside other objects, longer when asked for itself. */
import type { User } from '../state/users.ts'
import type { World } from '../state/world.ts'
import { apiUrl, nodeId, siteUrl, type Json } from './json.ts'

export function userJson(user: User): Json {
  const { id, login, type } = user
  const name = encodeURIComponent(login)
  const url = `${apiUrl}/users/${name}`
  const page = type === 'Bot' && login.endsWith('[bot]') ? `apps/${login.slice(0, -5)}` : name
  return {
    login,
    id,
    node_id: nodeId(type === 'Organization' ? 'O' : type === 'Bot' ? 'BOT' : 'U', id),
    avatar_url: `https://avatars.githubusercontent.com/u/${id}?v=4`,
    gravatar_id: '',
    url,
    html_url: `${siteUrl}/${page}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type,
    user_view_type: 'public',
    site_admin: false,
  }
}

export function publicUserJson(world: World, user: User): Json {
  return {
    ...userJson(user),
    name: null,
    company: null,
    blog: '',
    location: null,
    email: null,
    hireable: null,
    bio: null,
    twitter_username: null,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: world.stamp(user.createdAt),
    updated_at: world.stamp(user.createdAt),
  }
}

export function privateUserJson(world: World, user: User): Json {
  return {
    ...publicUserJson(world, user),
    user_view_type: 'private',
    private_gists: 0,
    total_private_repos: 0,
    owned_private_repos: 0,
    disk_usage: 0,
    collaborators: 0,
    two_factor_authentication: true,
    plan: { name: 'free', space: 976_562_499, collaborators: 0, private_repos: 10_000 },
  }
}
