/**
 * The JWT of a GitHub App: a short-lived token, signed with the App's private key. We sign it
 * ourselves, because that takes ten lines and the token must use GitHub's time.
 */
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, sign } from 'node:crypto'
import { SetupError } from '../../errors.ts'

/** GitHub refuses a JWT that is valid for more than ten minutes or was made in the future. */
const backdatedSeconds = 60
const validSeconds = 540

/** Error messages never show the key or details of it. */
export function readPrivateKey(pem: string): KeyObject {
  const hint = 'Give the PEM file that GitHub made under "Private keys" of the App, unchanged.'
  let key: KeyObject
  try {
    key = createPrivateKey(pem.replaceAll('\\n', '\n'))
  } catch {
    throw new SetupError('github_private_key', 'the private key of the GitHub App cannot be read', {
      hint,
    })
  }
  if (key.asymmetricKeyType === 'rsa') return key
  throw new SetupError(
    'github_private_key',
    'the private key of the GitHub App is not an RSA key',
    {
      hint,
    },
  )
}

export function makeAppJwt(appId: string, key: KeyObject, githubNowMs: number): string {
  const now = Math.floor(githubNowMs / 1000)
  const claims = { iat: now - backdatedSeconds, exp: now + validSeconds, iss: appId }
  const signed = [{ alg: 'RS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
}
