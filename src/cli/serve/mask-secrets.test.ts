import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { maskSecrets } from './mask-secrets.ts'

const jwt = `eyJ${'a'.repeat(200)}.eyJ${'b-_'.repeat(70)}.${'c'.repeat(86)}`
const pem = [
  '-----BEGIN RSA PRIVATE KEY-----',
  'MIIE"ow\\IB',
  'AAKC',
  '-----END RSA PRIVATE KEY-----',
]

/** What must not be readable afterwards, and the text that contains it. */
const secrets: readonly (readonly [name: string, secret: string, text: string])[] = [
  ['an installation token', 'x'.repeat(36), `ghs_${'x'.repeat(36)}`],
  ['a long installation token', jwt, `ghs_123456_${jwt}`],
  ['a personal token', 'y'.repeat(36), `ghp_${'y'.repeat(36)}`],
  ['an OAuth token', 'z'.repeat(36), `gho_${'z'.repeat(36)}`],
  ['a user token', 'u'.repeat(36), `ghu_${'u'.repeat(36)}`],
  ['a refresh token', 'r'.repeat(76), `ghr_${'r'.repeat(76)}`],
  ['a fine-grained token', 'A1b2_c3', 'github_pat_11AAAA_A1b2_c3'],
  ['a lease token', 's3cr3t-_x', 'hfl_s3cr3t-_x'],
  ['a run token', 's3cr3t', 'hfr_run_01abc.s3cr3t'],
  ['a scoped token', 's3cr3t', 'hft_tok_01abc.s3cr3t'],
  ['an admin token', 's3cr3t-_x', 'hfa_s3cr3t-_x'],
  ['a bot of Telegram', 'A'.repeat(35), `123456789:${'A'.repeat(35)}`],
  ['a hook of Slack', 'XXXXXXXX', 'https://hooks.slack.com/services/T000/B000/XXXXXXXX'],
  ['a signed token', 'c'.repeat(86), jwt],
  ['a split token', 'x'.repeat(36), `gh\u200ds_${'x'.repeat(36)}`],
  ['a bearer', 'hunter2~+/=', 'Authorization: bearer hunter2~+/='],
  ['a private key', 'AAKC', pem.join('\n')],
  ['a private key that was cut short', 'AAKC', pem.slice(0, 3).join('\n')],
  ['a password in a URL', 'p@ss\\"word', 'postgres://user:p@ss\\"word@db.example:5432/x'],
  ['a password in a query', 'hunter2', 'postgres://db/x?user=me&password=hunter2&ssl=1'],
]

describe.each(secrets)('%s', (_name, secret, text) => {
  test('is removed from any text, and the line stays JSON', () => {
    const anyLine = fc.tuple(fc.string(), fc.string(), fc.dictionary(fc.string(), fc.jsonValue()))
    fc.assert(
      fc.property(anyLine, ([before, after, rest]) => {
        const line = { ...rest, deep: [{ text: `${before} ${text} ${after}` }], end: 'of it' }
        const masked = maskSecrets(JSON.stringify(line))
        const back = JSON.parse(masked) as typeof line
        expect(back.deep[0]?.text).not.toContain(secret)
        expect(back.end).toBe('of it')
      }),
      { numRuns: 50, seed: 3 },
    )
  })

  test('is removed from JSON inside a text', () => {
    const masked = maskSecrets(JSON.stringify({ body: JSON.stringify({ text, end: 1 }) }))
    expect((JSON.parse(masked) as { body: string }).body).not.toContain(secret)
  })
})

test('a text without a secret stays unchanged', () => {
  const line = JSON.stringify({
    url: 'http://127.0.0.1:8787/v1/runs?cursor=a@b',
    database: 'postgres://db.example/x',
    text: 'the bearer of this; a high_fence; wghs_ghost; basic auth',
    run_id: 'run_01abc',
  })
  expect(maskSecrets(line)).toBe(line)
})
