// Goal: a body is accepted only if it is JSON in UTF-8 and not too deep; otherwise the error says
// what to do.
import { expect, it } from 'vitest'
import { InvalidInputError } from '../../errors.ts'
import { packBody, parsePayload, unpackBody } from './payload.ts'

function codeOf(body: Buffer): string {
  try {
    parsePayload(body)
    return 'taken'
  } catch (error) {
    return error instanceof InvalidInputError ? error.code : String(error)
  }
}

it.each(['{}', 'null', '7', '"ä"', ' [1,\n2] ', '{"a":{"__proto__":1}}'])(
  'the parser accepts %s',
  (text) => {
    expect(parsePayload(Buffer.from(text))).toEqual(JSON.parse(text))
  },
)

it.each(['', '{', '{"a":1,}', 'payload=%7B%7D', 'undefined', '\ufeff{}'])(
  'the parser refuses %j',
  (text) => {
    expect(codeOf(Buffer.from(text))).toBe('not_json')
  },
)

it('the parser refuses bytes that are not UTF-8, and does not repair them', () => {
  for (const hex of ['22ff22', '22c322', '22eda08022']) {
    expect(codeOf(Buffer.from(hex, 'hex'))).toBe('not_json')
  }
})

it('the parser accepts a hundred levels and refuses more', () => {
  const nested = (levels: number) => Buffer.from('['.repeat(levels) + ']'.repeat(levels))
  expect(codeOf(nested(100))).toBe('taken')
  for (const levels of [101, 1000, 1_000_000]) expect(codeOf(nested(levels))).toBe('too_deep')
  expect(codeOf(Buffer.from('{"__proto__":'.repeat(200) + '1' + '}'.repeat(200)))).toBe('too_deep')
})

it('a packed body is unpacked without a change', async () => {
  for (const body of [Buffer.alloc(0), Buffer.from('{"a":"ä"}'), Buffer.alloc(1 << 20, 'x')]) {
    const packed = await Promise.resolve(packBody(body))
    expect(unpackBody(packed).equals(body)).toBe(true)
  }
})
