/** Credentials of an App: its JSON web token, and a token of its only installation. */
import { sign, type KeyObject } from 'node:crypto'
import type { SimulatorClient } from './simulator-client.ts'

export interface JwtClaims {
  readonly iss?: unknown
  readonly iat?: unknown
  readonly exp?: unknown
}

export function makeJwt(key: KeyObject, claims: JwtClaims, alg = 'RS256'): string {
  const text = [{ alg, typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

/** A valid one, if both clocks agree. */
export function appJwt({ time }: SimulatorClient, appId: number, key: KeyObject): string {
  const now = Math.floor(time.clock.wallMs() / 1000)
  return makeJwt(key, { iss: appId, iat: now - 60, exp: now + 540 })
}

export async function installationToken(
  client: SimulatorClient,
  appId: number,
  key: KeyObject,
  body: object = {},
): Promise<string> {
  const token = appJwt(client, appId, key)
  const { data } = await client.request('GET /app/installations', { token })
  const call = `POST /app/installations/${data[0].id}/access_tokens`
  const minted = await client.request(call, { token, body })
  return minted.data.token as string
}
