/** Accounts. Naming one creates it, so a test need not add the accounts it uses. */
import type { World } from './world.ts'

export type UserType = 'User' | 'Bot' | 'Organization'

export interface User {
  readonly id: number
  readonly login: string
  readonly type: UserType
  readonly createdAt: number
}

/** Upper and lower case make no difference in logins. An unknown account is created. */
export function userNamed(world: World, login: string, type?: UserType): User {
  return (
    world.users.get(login.toLowerCase()) ??
    addUser(world, login, type === undefined ? {} : { type })
  )
}

export function addUser(
  world: World,
  login: string,
  options: { readonly id?: number; readonly type?: UserType } = {},
): User {
  if (world.users.has(login.toLowerCase())) throw new Error(`There is already a user ${login}.`)
  const type = options.type ?? (login.endsWith('[bot]') ? 'Bot' : 'User')
  const id = options.id ?? world.nextId()
  const user: User = { id, login, type, createdAt: world.nowMs() }
  world.users.set(login.toLowerCase(), user)
  return user
}
