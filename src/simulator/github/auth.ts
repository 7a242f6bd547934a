/**
 * Finds out who sends a request: an account by its token, the App by a JSON web token signed with
 * its key, an installation by its token, or nobody.
 *
 * What must hold: an expired, revoked or unknown token is answered 401 with GitHub's text. The
 * App's JSON web token must follow GitHub's rules: RS256, at most ten minutes, not from the future.
 */
import { verify } from 'node:crypto'
import type { GitHubRequest } from './request.ts'
import { Refusal } from './refusal.ts'
import { addAccountToken, type App, type Token } from './state/apps.ts'
import type { User } from './state/users.ts'
import type { World } from './state/world.ts'

export type Identity =
  | { readonly kind: 'account' | 'installation'; readonly token: Token; readonly user: User }
  | { readonly kind: 'app'; readonly app: App }
  | { readonly kind: 'stranger' }

const jwtSecondsMax = 600

export interface Authentication {
  /** Throws a 401. */
  identify(request: GitHubRequest): Identity
}

/** With `anyTokenAs`, every unknown token belongs to that account. */
export function createAuthentication(world: World, anyTokenAs: User | null): Authentication {
  function identifyToken(text: string): Identity {
    const known = world.tokens.get(text)
    const token =
      known ?? (anyTokenAs === null ? undefined : addAccountToken(world, anyTokenAs, text))
    if (token === undefined || token.revoked) throw badCredentials()
    if (token.expiresAt !== null && token.expiresAt <= world.nowMs()) throw badCredentials()
    const kind = token.installation === null ? 'account' : 'installation'
    return { kind, token, user: token.user }
  }
  return {
    identify: ({ headers }) => {
      const given = headers['authorization']
      if (given === undefined) return { kind: 'stranger' }
      const text = /^(?:bearer|token)\s+(\S+)$/i.exec(given)?.[1]
      if (text === undefined) throw badCredentials()
      const isJwt = !text.startsWith('gh') && text.split('.').length === 3
      if (!isJwt || world.app === null) return identifyToken(text)
      checkJwt(world.app, text, Math.floor(world.githubNowMs() / 1000))
      return { kind: 'app', app: world.app }
    },
  }
}

/** The identity that limits are counted for, as GitHub's refusals name it. */
export function limitKeyOf(identity: Identity): string {
  switch (identity.kind) {
    case 'app':
      return `app ID ${identity.app.id}`
    case 'stranger':
      return '127.0.0.1'
    case 'account':
    case 'installation': {
      const { installation, user } = identity.token
      return installation === null ? `user ID ${user.id}` : `installation ID ${installation.id}`
    }
  }
}

export function identityName(identity: Identity): string | null {
  switch (identity.kind) {
    case 'app':
      return 'app'
    case 'stranger':
      return null
    case 'account':
    case 'installation':
      return identity.user.login
  }
}

const badCredentials = (): Refusal => new Refusal(401, { message: 'Bad credentials' })

const badJwt = (message: string): Refusal => new Refusal(401, { message })

function checkJwt(app: App, text: string, now: number): void {
  const [header = '', claims = '', signature = ''] = text.split('.')
  const undecodable = badJwt('A JSON web token could not be decoded')
  if (decodePart(header)?.['alg'] !== 'RS256') throw undecodable
  const signed = Buffer.from(`${header}.${claims}`)
  if (!verify('sha256', signed, app.publicKey, Buffer.from(signature, 'base64url'))) {
    throw undecodable
  }
  const { iat, exp, iss } = decodePart(claims) ?? {}
  if (typeof exp !== 'number') throw badJwt("Missing 'exp' claim in assertion")
  if (typeof iat !== 'number') throw badJwt("Missing 'iat' claim in assertion")
  if (iat > now) throw badJwt(claimMessage('Issued at', 'iat', 'an Integer', 'the time'))
  if (exp <= now)
    throw badJwt(claimMessage('Expiration time', 'exp', 'a numeric value', 'the future time'))
  if (exp - now > jwtSecondsMax) {
    throw badJwt("'Expiration time' claim ('exp') is too far in the future")
  }
  const isOurs = String(iss) === String(app.id) || iss === app.clientId
  if (!isOurs) throw new Refusal(404, { message: 'Integration not found' })
}

const claimMessage = (name: string, claim: string, type: string, time: string): string =>
  `'${name}' claim ('${claim}') must be ${type} representing ${time}`

function decodePart(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>
  } catch {
    return null
  }
}
