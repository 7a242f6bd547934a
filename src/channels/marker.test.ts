// Goal: Holdfast recognizes its own output by its marker, and no other person can make, move or
// hide one.
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { judgeMarker, withMarker, withoutMarker, type MarkerKeys } from './marker.ts'

const old = { id: 'k1', secret: 'an old secret' }
const current = { id: 'k2', secret: 'the present secret' }
const keys: MarkerKeys = { current, all: [old, current] }
const of = { repoGithubId: 77, ownRepositoryIds: ['rep_1'], thread: 5, markerKey: 'a1b2:anchor' }

/** Any text, also with lone surrogates. */
const anyText = fc
  .array(fc.nat(0xffff), { minLength: 1, maxLength: 60 })
  .map((units) => String.fromCharCode(...units))

describe('a marker', () => {
  it('is at the end, hidden, with its key and the full delivery key', () => {
    const body = withMarker('Hello', of, keys)
    expect(body).toMatch(/^Hello\n\n<!-- holdfast:1 k2 a1b2%3Aanchor [\w-]{43} -->$/)
    expect(judgeMarker(body, of, keys)).toBe('verified')
    expect(withoutMarker(body)).toBe('Hello')
  })

  it('is verified by an earlier key', () => {
    const body = withMarker('Hello', of, { current: old, all: [old] })
    expect(judgeMarker(body, of, keys)).toBe('verified')
  })

  it('that no key verifies is unverified', () => {
    const strange = { id: 'k2', secret: 'somebody else’s' }
    const body = withMarker('Hello', of, { current: strange, all: [strange] })
    expect(judgeMarker(body, of, keys)).toBe('unverified')
  })

  it('is verified by any store that has the key, whatever its own id of the repository is', () => {
    const elsewhere = { ...of, ownRepositoryIds: ['rep_9'] }
    const [first, second] = [withMarker('Hello', of, keys), withMarker('Hello', elsewhere, keys)]
    expect(judgeMarker(first, elsewhere, keys)).toBe('verified')
    expect(second).toBe(first)
  })

  it('of an earlier version, signed over our own id, is verified, also after a merge', () => {
    const signed = JSON.stringify(['holdfast:1', 'rep_1', of.thread, of.markerKey])
    const signature = createHmac('sha256', old.secret).update(signed).digest('base64url')
    const body = `Hello\n\n<!-- holdfast:1 k1 a1b2%3Aanchor ${signature} -->`
    expect(judgeMarker(body, of, keys)).toBe('verified')
    const merged = { ...of, ownRepositoryIds: ['rep_2', 'rep_1'] }
    expect(judgeMarker(body, merged, keys)).toBe('verified')
    expect(judgeMarker(body, { ...of, ownRepositoryIds: ['rep_2'] }, keys)).toBe('unverified')
  })

  it.each([
    ['repository', { ...of, repoGithubId: 78, ownRepositoryIds: ['rep_2'] }],
    ['thread', { ...of, thread: 6 }],
  ])('copied to another %s is unverified there', (_where, there) => {
    expect(judgeMarker(withMarker('Hello', of, keys), there, keys)).toBe('unverified')
  })

  it('of another delivery is not accepted for this one', () => {
    const body = withMarker('Hello', of, keys)
    for (const markerKey of ['a1b2:ancho', 'a1b2:anchor2', 'a1b2', 'A1B2:anchor']) {
      expect(judgeMarker(body, { ...of, markerKey }, keys)).toBe('other')
    }
    expect(judgeMarker('Hello', of, keys)).toBe('other')
  })

  it('counts only if it is the last one', () => {
    const other = { ...of, markerKey: 'blocked:plan:2' }
    const body = withMarker(withMarker('Hello', other, keys), of, keys)
    expect(judgeMarker(body, of, keys)).toBe('verified')
    expect(judgeMarker(body, other, keys)).toBe('other')
  })

  it('is found above text that somebody added, and with other line ends', () => {
    const body = `${withMarker('One\nTwo', of, keys).replaceAll('\n', '\r\n')}\r\n`
    expect(judgeMarker(`${body}PS: nice`, of, keys)).toBe('verified')
    expect(withoutMarker(body)).toBe('One\nTwo')
    expect(withoutMarker(`${body}PS: nice`)).not.toBe('One\nTwo')
  })

  it('is one line and one comment, and is recognized, for every delivery key', () => {
    fc.assert(
      fc.property(anyText, (markerKey) => {
        const any = { ...of, markerKey }
        const body = withMarker('', any, keys)
        expect(body).toMatch(/^<!-- [^>\n]+ -->$/)
        expect(judgeMarker(body, any, keys)).toBe('verified')
      }),
      { seed: 6 },
    )
  })
})
