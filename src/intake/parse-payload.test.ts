// Goal: a body is JSON in UTF-8 of a bearable depth, or it is refused with a remedy.
import { expect, it } from 'vitest'
import { InvalidInputError } from '../errors.ts'
import { packBody, parsePayload, unpackBody } from './parse-payload.ts'

function codeOf(body: Buffer): string {
  try {
    parsePayload(body)
    return 'taken'
  } catch (error) {
    return error instanceof InvalidInputError ? error.code : String(error)
  }
}

it.each(['{}', 'null', '7', '"ä"', ' [1,\n2] ', '{"a":{"__proto__":1}}'])('takes %s', (text) => {
  expect(parsePayload(Buffer.from(text))).toEqual(JSON.parse(text))
})

it.each(['', '{', '{"a":1,}', 'payload=%7B%7D', 'undefined', '\ufeff{}'])('refuses %j', (text) => {
  expect(codeOf(Buffer.from(text))).toBe('not_json')
})

it('refuses bytes that are no UTF-8, and does not mend them', () => {
  for (const hex of ['22ff22', '22c322', '22eda08022']) {
    expect(codeOf(Buffer.from(hex, 'hex'))).toBe('not_json')
  }
})

it('takes a hundred levels and refuses more, however many', () => {
  const nested = (levels: number) => Buffer.from('['.repeat(levels) + ']'.repeat(levels))
  expect(codeOf(nested(100))).toBe('taken')
  for (const levels of [101, 1000, 1_000_000]) expect(codeOf(nested(levels))).toBe('too_deep')
  expect(codeOf(Buffer.from('{"__proto__":'.repeat(200) + '1' + '}'.repeat(200)))).toBe('too_deep')
})

it('a packed body comes back byte by byte', async () => {
  for (const body of [Buffer.alloc(0), Buffer.from('{"a":"ä"}'), Buffer.alloc(1 << 20, 'x')]) {
    const packed = await Promise.resolve(packBody(body))
    expect(unpackBody(packed).equals(body)).toBe(true)
  }
})
