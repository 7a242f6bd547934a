/**
 * The App, its installations, and all tokens: tests give accounts their tokens; tokens of
 * installations last an hour.
 */
import type { KeyObject } from 'node:crypto'
import type { Repository } from './repositories.ts'
import { userNamed, type User } from './users.ts'
import type { World } from './world.ts'

export type Permissions = Readonly<Record<string, string>>

/** From the lowest to the highest: each includes the ones before it. */
const levels = ['read', 'write', 'admin']

/** Whether these permissions include this one, at this level or above it. */
export function includes(permissions: Permissions, name: string, level: unknown): boolean {
  const wanted = levels.indexOf(String(level))
  return wanted !== -1 && levels.indexOf(permissions[name] ?? '') >= wanted
}

export interface App {
  readonly id: number
  readonly clientId: string
  readonly slug: string
  readonly name: string
  readonly owner: User
  readonly publicKey: KeyObject
  readonly permissions: Permissions
  readonly events: readonly string[]
}

export interface Installation {
  readonly id: number
  readonly account: User
  readonly createdAt: number
}

export interface Token {
  readonly text: string
  /** The account, or the App's bot, that it acts as. */
  readonly user: User
  /** Null for the token of an account. */
  readonly installation: Installation | null
  /** Null for all repositories of the installation. */
  readonly repositories: ReadonlySet<number> | null
  readonly permissions: Permissions
  /** By the given clock; null for a token that does not expire. */
  readonly expiresAt: number | null
  revoked: boolean
}

const tokenLifeMs = 60 * 60 * 1000

export const botOf = (world: World, app: App): User => userNamed(world, `${app.slug}[bot]`, 'Bot')

/** One installation per account, created with its first repository. */
export function installFor(world: World, account: User): void {
  if (world.app === null) return
  if ([...world.installations.values()].some((each) => each.account.id === account.id)) return
  const id = world.nextId()
  world.installations.set(id, { id, account, createdAt: world.nowMs() })
}

export function uninstallFrom(world: World, account: User): void {
  for (const { id } of [...world.installations.values()].filter(
    (each) => each.account.id === account.id,
  )) {
    world.installations.delete(id)
    for (const token of world.tokens.values()) {
      if (token.installation?.id === id) token.revoked = true
    }
  }
}

export function installationOf(world: World, repository: Repository): Installation | null {
  const found = [...world.installations.values()].find(
    ({ account }) => account.id === repository.owner.id,
  )
  return found ?? null
}

export function addAccountToken(world: World, user: User, text: string): Token {
  const token: Token = {
    text,
    user,
    installation: null,
    repositories: null,
    permissions: {},
    expiresAt: null,
    revoked: false,
  }
  return storeToken(world, token)
}

export function addInstallationToken(
  world: World,
  app: App,
  installation: Installation,
  scope: { repositories: ReadonlySet<number> | null; permissions: Permissions },
): Token {
  const token: Token = {
    text: tokenText(world, app),
    user: botOf(world, app),
    installation,
    ...scope,
    expiresAt: world.nowMs() + tokenLifeMs,
    revoked: false,
  }
  world.countChange()
  return storeToken(world, token)
}

function storeToken(world: World, token: Token): Token {
  world.tokens.set(token.text, token)
  world.tokenHolders.add(token.user.id)
  return token
}

/** As GitHub makes them since 2026: long, without a fixed length, with a JSON web token inside. */
function tokenText(world: World, app: App): string {
  const part = (bytes: number): string => world.random.bytes(bytes).toString('base64url')
  const header = Buffer.from('{"alg":"ES256","typ":"JWT"}').toString('base64url')
  return `ghs_${app.id}_${header}.${part(282 + world.random.below(9))}.${part(64)}`
}
