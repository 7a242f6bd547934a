// Goal: only a sender that knows the secret is accepted, whatever the signature and the body look
// like.
import { sign } from '@octokit/webhooks-methods'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSignedBy } from './signature.ts'

const secret = 'a secret'
const text = '{"action":"opened"}'
const body = Buffer.from(text)
const right = await sign(secret, text)

describe('a signature', () => {
  it('as GitHub makes it is valid, in upper and lower case', () => {
    expect(isSignedBy([secret], body, right)).toBe(true)
    const upper = `sha256=${right.slice(7).toUpperCase()}`
    expect(isSignedBy([secret], body, upper)).toBe(true)
  })

  it('that GitHub’s own library made is valid for every text and secret', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1, unit: 'binary' }),
        fc.string({ minLength: 1 }),
        async (sent, key) => {
          fc.pre(sent.isWellFormed())
          expect(isSignedBy([key], Buffer.from(sent), await sign(key, sent))).toBe(true)
        },
      ),
      { numRuns: 50, seed: 3 },
    )
  })

  it('is invalid when any byte of the body differs', () => {
    for (let at = 0; at < body.length; at++) {
      const changed = Buffer.from(body)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(isSignedBy([secret], changed, right)).toBe(false)
    }
    expect(isSignedBy([secret], Buffer.concat([body, Buffer.from(' ')]), right)).toBe(false)
    expect(isSignedBy([secret], body.subarray(1), right)).toBe(false)
  })

  it('is invalid when any of its digits differs', () => {
    for (let at = 7; at < right.length; at++) {
      const digit = right[at] === '0' ? '1' : '0'
      const changed = right.slice(0, at) + digit + right.slice(at + 1)
      expect(isSignedBy([secret], body, changed)).toBe(false)
    }
  })

  it('is valid with any of several secrets, and with no other', async () => {
    const [older, newer] = [await sign('older', text), await sign('newer', text)]
    for (const secrets of [
      ['older', 'newer'],
      ['newer', 'older'],
    ]) {
      expect(isSignedBy(secrets, body, older)).toBe(true)
      expect(isSignedBy(secrets, body, newer)).toBe(true)
      expect(isSignedBy(secrets, body, right)).toBe(false)
    }
    expect(isSignedBy([], body, right)).toBe(false)
  })

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['made with another algorithm', right.replace('sha256', 'sha1')],
    ['without an algorithm', right.slice(7)],
    ['too short', right.slice(0, -1)],
    ['too long', `${right}0`],
    ['not hexadecimal', `sha256=${'g'.repeat(64)}`],
    ['preceded by a space', ` ${right}`],
    ['followed by a newline', `${right}\n`],
    ['given twice', `${right}, ${right}`],
  ])('that is %s is invalid', (_name, signature) => {
    expect(isSignedBy([secret], body, signature)).toBe(false)
  })

  it('of an empty body is checked like any other', () => {
    // openssl dgst -sha256 -hmac key /dev/null
    const digest = '5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0'
    expect(isSignedBy(['key'], Buffer.alloc(0), `sha256=${digest}`)).toBe(true)
    expect(isSignedBy(['key'], body, `sha256=${digest}`)).toBe(false)
  })
})
