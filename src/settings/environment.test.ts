import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readEnvironment } from './environment.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-env-'))
writeFileSync(join(folder, 'token'), 'from-a-file\n')
writeFileSync(join(folder, 'blank'), ' \n\n')

const read = (env: Record<string, string | undefined>) => readEnvironment(env, folder)

describe('names', () => {
  test.each([
    ['HOLDFAST_PROT', 'HOLDFAST_PORT'],
    ['HOLDFAST_LEASE', 'HOLDFAST_LEASE_MS'],
    ['HOLDFAST_PORT_FILE', 'HOLDFAST_PORT'],
    ['HOLDFAST_ADMIN_TOKN_FILE', 'HOLDFAST_ADMIN_TOKEN_FILE'],
    ['HOLDFAST_TOKN', 'HOLDFAST_TOKEN'],
    ['HOLDFAST_TOKENS_FILE', 'HOLDFAST_TOKEN_FILE'],
    ['HOLDFAST_URLS', 'HOLDFAST_URL'],
    ['HOLDFAST_URL_FILE', 'HOLDFAST_URL'],
  ])('the error for the unknown %s suggests %s', (wrong, right) => {
    expect(read({ [wrong]: 'secret-value' }).problems).toEqual([
      `Unknown setting ${wrong} in the environment. Did you mean "${right}"?`,
    ])
  })

  test('the error for a name that is near to none says where the names are listed', () => {
    expect(read({ HOLDFAST_TEST: 'x' }).problems).toEqual([
      'Unknown setting HOLDFAST_TEST in the environment. docs/reference/settings.md lists them all',
    ])
  })

  test.each([
    'HOLDFAST_RUN_ID',
    'HOLDFAST_RUN_TOKEN',
    'HOLDFAST_URL',
    'HOLDFAST_MCP_URL',
    'HOLDFAST_INPUT_FILE',
    'HOLDFAST_SUMMARY_FILE',
    'HOLDFAST_RESULT_FILE',
    'HOLDFAST_MCP_CONFIG',
    'HOLDFAST_TOKEN',
    'GITHUB_TOKENS',
    'GITHUB_ACTIONS',
    'SLACK_WHATEVER',
  ])('%s is not a mistake', (name) => {
    expect(read({ [name]: 'x' })).toEqual({ found: new Map(), problems: [] })
  })

  test.each(['HOLDFAST_SECRETS_KEY', 'HOLDFAST_SECRETS_KEY_FILE', 'HOLDFAST_ENDPOINT_ALLOW'])(
    '%s is for a later version',
    (name) => {
      expect(read({ [name]: 'x' }).problems).toEqual([
        `${name} is set, but this version does not support it: it has no webhook endpoints. ` +
          'Unset it',
      ])
    },
  )

  test('an undefined variable counts as missing', () => {
    expect(read({ HOLDFAST_PROT: undefined, HOLDFAST_PORT: undefined }).problems).toEqual([])
  })
})

describe('empty values', () => {
  test.each(['', '  '])('a HOLDFAST_ variable of %j is an error', (text) => {
    expect(read({ HOLDFAST_HOST: text }).problems).toEqual([
      'HOLDFAST_HOST is empty. Give it a value or unset it',
    ])
    expect(read({ HOLDFAST_ADMIN_TOKEN_FILE: text }).problems).toEqual([
      'HOLDFAST_ADMIN_TOKEN_FILE is empty. Give it the path of a file or unset it',
    ])
  })

  test.each(['GITHUB_TOKEN', 'GITHUB_TOKEN_FILE', 'GITHUB_APP_ID'])(
    'an empty %s counts as not set',
    (name) => {
      expect(read({ [name]: '' })).toEqual({ found: new Map(), problems: [] })
    },
  )
})

describe('secrets in files', () => {
  test('a secret is read from its file without the trailing newline', () => {
    const { found } = read({ HOLDFAST_ADMIN_TOKEN_FILE: 'token' })
    expect(found.get('adminToken')).toEqual({
      text: 'from-a-file',
      source: `from the file ${join(folder, 'token')}`,
    })
  })

  test.each([
    ['missing', 'does not exist'],
    ['blank', 'is empty'],
    ['.', 'cannot be read (EISDIR)'],
  ])('the file %j is refused because it %s', (name, why) => {
    expect(read({ GITHUB_TOKEN_FILE: name }).problems).toEqual([
      `GITHUB_TOKEN_FILE is ${join(folder, name)}, which ${why}`,
    ])
  })

  test('a secret that is given twice is an error that does not show it', () => {
    const { problems } = read({
      HOLDFAST_ADMIN_TOKEN: 'hunter2',
      HOLDFAST_ADMIN_TOKEN_FILE: 'token',
    })
    expect(problems).toEqual([
      'HOLDFAST_ADMIN_TOKEN and HOLDFAST_ADMIN_TOKEN_FILE are both set. Set only one of them',
    ])
  })

  test('an address that may contain a password can come from a file, too', () => {
    expect(read({ HOLDFAST_DATABASE_URL_FILE: 'token' }).found.has('databaseUrl')).toBe(true)
  })
})
