import { describe, expect, test } from 'vitest'
import { hideSecrets } from './hide-secrets.ts'

const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAAKC\n-----END RSA PRIVATE KEY-----'

describe('hidden', () => {
  test.each([
    [`an installation token`, `ghs_${'x'.repeat(36)}`, 'ghs_(hidden)'],
    [`a long installation token`, `ghs_12_eyJ${'a'.repeat(200)}.b-_.c`, 'ghs_(hidden)'],
    [`a personal token`, `ghp_${'y'.repeat(36)}`, 'ghp_(hidden)'],
    [`an OAuth token`, `gho_${'y'.repeat(36)}`, 'gho_(hidden)'],
    [`a user token`, `ghu_${'y'.repeat(36)}`, 'ghu_(hidden)'],
    [`a refresh token`, `ghr_${'y'.repeat(36)}`, 'ghr_(hidden)'],
    [`a fine-grained token`, 'github_pat_11AAAA_A1b2_c3', 'github_pat_(hidden)'],
    [`a lease token`, 'hfl_s3cr3t-_x', 'hfl_(hidden)'],
    [`a run token`, 'hfr_run_01abc.s3cr3t', 'hfr_(hidden)'],
    [`a scoped token`, 'hft_tok_01abc.s3cr3t', 'hft_(hidden)'],
    [`a key id of AWS`, 'AKIAIOSFODNN7EXAMPLE', 'AKIA(hidden)'],
    [`a token of Slack`, ['xoxb', '1234567890', 'abcdefghij'].join('-'), 'xoxb-(hidden)'],
    [`a key of a model's vendor`, `sk-proj-${'a1'.repeat(20)}`, 'sk-(hidden)'],
    [`a bearer`, 'Authorization: bearer hunter2~+/=', 'Authorization: bearer (hidden)'],
    [`a private key`, pem, '(hidden private key)'],
    [`a private key that was cut short`, pem.slice(0, 45), '(hidden private key)'],
    [`a password in a URL`, 'postgres://me:p@ss@db/x', 'postgres://me:(hidden)@db/x'],
    [
      `a token in a query`,
      'https://a.b/c?x=1&access_token=s3',
      'https://a.b/c?x=1&access_token=(hidden)',
    ],
  ])('%s', (_name, secret, hidden) => {
    expect(hideSecrets(`before ${secret}`)).toBe(`before ${hidden}`)
    expect(hideSecrets(`\`${secret}\``)).toBe(
      secret.startsWith('-----BEGIN') && secret !== pem ? `\`${hidden}` : `\`${hidden}\``,
    )
  })
})

test.each([
  'the bearer of this token=value; Basic checks; Bearer authentication.',
  'basic error-handling and Bearer tokens, mostly',
  'wghs_ghost, AKIA, sk-toolbar-button-primary, desk-1234567890123456789012345',
  'https://example.com:8080/a@b and git@github.com:a/b.git',
])('no secret: %s', (text) => {
  expect(hideSecrets(text)).toBe(text)
})
