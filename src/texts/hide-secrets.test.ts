import { describe, expect, test } from 'vitest'
import { hideSecrets } from './hide-secrets.ts'

const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAAKC\n-----END RSA PRIVATE KEY-----'

describe('a secret is hidden', () => {
  test.each([
    ['a line break', String.raw`\n`],
    ['a tab', String.raw`\t`],
    ['a character by its number', String.raw`\x3d`],
    ['a character of JSON', String.raw`\u003d`],
    ['a character of a URL', '%3D'],
    ['a colour', '[1;32m'],
  ])('right behind the escape of %s', (_what, escape) => {
    const jwt = `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(43)}`
    const tokens = [`ghp_${'x'.repeat(36)}`, `sk-proj-${'a1'.repeat(20)}`, jwt, 'hfr_run_1.s3cr3t']
    for (const token of tokens)
      expect(hideSecrets(`{"a":"b${escape}${token}"}`)).not.toContain(token)
    const [line] = tokens.map((token) => JSON.stringify({ text: `refused:\n${token}` }))
    expect(hideSecrets(line!)).toBe(String.raw`{"text":"refused:\nghp_(hidden)"}`)
  })

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
    [`an admin token`, 'hfa_s3cr3t-_x', 'hfa_(hidden)'],
    [`a webhook secret`, 'hfw_s3cr3t-_x', 'hfw_(hidden)'],
    [`a token of GitLab`, `glpat-${'aB3'.repeat(7)}`, 'glpat-(hidden)'],
    [`a token of npm`, `npm_${'aB3'.repeat(12)}`, 'npm_(hidden)'],
    [`a token of PyPI`, `pypi-${'AgEIcHlwaS5vcmc'.repeat(4)}`, 'pypi-(hidden)'],
    [`a key of Google`, `AIza${'aB-'.repeat(12)}`, 'AIza(hidden)'],
    [`an access token of Google`, `ya29.${'aB-'.repeat(12)}`, 'ya29.(hidden)'],
    [`a key of Stripe`, `sk_live_${'aB3'.repeat(8)}`, 'sk_live_(hidden)'],
    [`a secret of webhooks`, `whsec_${'aB3'.repeat(8)}`, 'whsec_(hidden)'],
    [
      `a signed token`,
      `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(43)}`,
      'eyJ(hidden)',
    ],
    [`a bot of Telegram`, `123456789:${'A'.repeat(35)}`, '123456789:(hidden)'],
    [
      `a bot of Telegram in an address`,
      `https://api.telegram.org/bot123456789:${'A'.repeat(35)}/sendMessage`,
      'https://api.telegram.org/bot123456789:(hidden)/sendMessage',
    ],
    [
      `a hook of Slack`,
      'https://hooks.slack.com/services/T000/B000/XXXXXXXX',
      'https://hooks.slack.com/services/(hidden)',
    ],
    [
      `a hook of Discord`,
      'https://discord.com/api/webhooks/123456/abc-DEF_',
      'https://discord.com/api/webhooks/(hidden)',
    ],
    [`a mail key`, `SG.${'a'.repeat(22)}.${'b'.repeat(43)}`, 'SG.(hidden)'],
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

test.each(['\u200b', '\u200d', '\u2060', '\u00ad', '\ufe0f', '\u{e0061}'])(
  'a secret split by %j is still hidden',
  (invisible) => {
    const split = `gh${invisible}p_${`y${invisible}`.repeat(35)}y`
    expect(hideSecrets(split)).toBe('ghp_(hidden)')
  },
)

const body = 'A1b2C3d4E5'.repeat(4)

test.each([
  ['an escape', String.raw`ghp\_${body}`],
  ['escapes', String.raw`github\_pat\_11AAAA\_${body}`],
  ['a number', `&#103;hp_${body}`],
  ['a number of base 16', `gh&#x70;_${body}`],
  ['a name', `ghp&lowbar;${body}`],
  ['an invisible character by its number', `ghp&#8203;_${body}`],
  ['an invisible character by its name', `gh&shy;p_${body.replace('b', 'b&zwnj;')}`],
  ['a character of a URL', `ghp%5F${body}`],
  ['a wide character', `ghp\uff3f${body}`],
  ['a letter of mathematics', `\u{1d420}hp_${body}`],
  ['a letter of mathematics by its name', `&gopf;hp_${body}`],
  ['bold', `ghp_**${body}**`],
  ['bold and an escape', String.raw`**gh**p\_${body}`],
  ['code', `\`ghp\`_${body}`],
  ['a stroke', `ghp_A1b2~${body}~`],
])('a secret that %s splits is still hidden', (_what, written) => {
  const hidden = hideSecrets(`before ${written} after`)
  expect(hidden).toMatch(/^before \W*(?:ghp|github_pat)_\(hidden\)[*~]* after$/)
})

test('a value that is shown as a key, a bearer token or a password is hidden', () => {
  expect(hideSecrets(pem.replaceAll('-', String.raw`\-`))).toBe('(hidden private key)')
  expect(hideSecrets(pem.replace('BEGIN ', 'BEGIN\u00a0'))).toBe('(hidden private key)')
  expect(hideSecrets(String.raw`Bearer abc\_1\-2.d3`)).toBe('Bearer (hidden)')
  expect(hideSecrets('postgres&colon;//me:pass@db')).toBe('postgres://me:(hidden)@db')
  expect(hideSecrets('a?x=1&amp;api\\_key=s3cr3t')).toBe('a?x=1&api_key=(hidden)')
})

test.each([
  'the bearer of this token=value; Basic checks; Bearer authentication.',
  'basic error-handling and Bearer tokens, mostly',
  'wghs_ghost, AKIA, sk-toolbar-button-primary, desk-1234567890123456789012345',
  'https://example.com:8080/a@b and git@github.com:a/b.git',
  'npm_config_registry, whsec_ for short, 12:30:45, eyJ alone, sk_live_x, SG.Team, hf_hub',
  'tokens are `ghp_`-prefixed; Basic `README.md`, **Bearer** `Config.ts`',
  String.raw`snake\_case\_name &lt;b&gt; 100%25 \*not bold\*`,
])('a text that is not a secret stays: %s', (text) => {
  expect(hideSecrets(text)).toBe(text)
})
