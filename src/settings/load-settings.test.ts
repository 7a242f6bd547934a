import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { describeChanges, describeSettings } from './describe-settings.ts'
import { loadSettings, type SettingsSources } from './load-settings.ts'
import { optionEntries } from './options/options.ts'
import { SettingsError } from './settings-error.ts'

const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----'
let cwd = ''
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-settings-'))
})

const load = (sources: Partial<SettingsSources> = {}) => loadSettings({ env: {}, cwd, ...sources })

async function problemsOf(sources: Partial<SettingsSources>): Promise<readonly string[]> {
  try {
    await load(sources)
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
  return []
}

function configFile(text: string): string {
  const path = join(cwd, 'holdfast.config.ts')
  writeFileSync(path, text)
  return path
}

describe('where a value comes from', () => {
  test('a flag beats the environment, which beats the file, which beats the default', async () => {
    configFile('export default { port: 1, leaseMs: 2000, coalesceMs: 3 }')
    const env = { HOLDFAST_PORT: '4', HOLDFAST_LEASE_MS: '5000' }
    const settings = await load({ env, flags: { port: '7', host: undefined } })
    expect(settings).toMatchObject({
      port: 7,
      leaseMs: 5000,
      coalesceMs: 3,
      writesPerHour: 500,
      host: '127.0.0.1',
    })
  })

  test('everything has a default', async () => {
    expect(await load()).toMatchObject({
      host: '127.0.0.1',
      port: 8787,
      dataDir: join(cwd, 'data'),
      database: { kind: 'sqlite', path: join(cwd, 'data', 'holdfast.db') },
      adminToken: null,
      publicUrl: null,
      leaseMs: 60_000,
      coalesceMs: 2000,
      writeSpacingMs: 1000,
      writesPerMinute: 80,
      writesPerHour: 500,
      confirmDelayMs: 5000,
      locale: 'en',
      logLevel: 'info',
      githubApiUrl: 'https://api.github.com',
      githubWebhookSecrets: [],
      mode: 'sandbox',
      work: true,
      configFile: null,
      retention: { finishedDays: 30, supersededDays: 7, inboxDays: 7, auditDays: 90 },
    })
  })

  test('every default is a value that would be allowed', () => {
    for (const [key, entry] of optionEntries) {
      if (entry.default === null) continue
      expect(entry.kind.fromConfig.safeParse(entry.default).success, key).toBe(true)
    }
  })

  test('a wrong value is an error even if a stronger source overrides it', async () => {
    const path = configFile("export default { port: 'x' }")
    const env = { HOLDFAST_PORT: 'y' }
    expect(await problemsOf({ env, flags: { port: 'z' } })).toEqual([
      '--port (from the command line) is "z" but must be a whole number from 0 to 65535',
      'HOLDFAST_PORT (from the environment) is "y" but must be a whole number from 0 to 65535',
      `port (from ${path}) is "x" but must be a whole number from 0 to 65535`,
    ])
  })

  test('the settings cannot be changed', async () => {
    const settings = await load()
    expect(Object.isFrozen(settings)).toBe(true)
    expect(Object.isFrozen(settings.runs['review']?.on['pull_request'])).toBe(true)
  })
})

describe('numbers', () => {
  test.each(['abc', '-5', '1.5', '1e3', '+5', 'Infinity', 'NaN', '0x10', '1_000', '5 5', '٥'])(
    '%j is not a number of milliseconds',
    async (text) => {
      expect(await problemsOf({ env: { HOLDFAST_COALESCE_MS: text } })).toEqual([
        `HOLDFAST_COALESCE_MS (from the environment) is "${text}" but must be ` +
          'a whole number from 0 to 86400000 (milliseconds)',
      ])
    },
  )

  test.each(['abc', '-5', '0', '1.5', '1e3', '+5', 'Infinity', '99999999999'])(
    'a time of %j is an error that names the setting and what is allowed (scenario 62)',
    async (text) => {
      const env = { HOLDFAST_LEASE_MS: text, HOLDFAST_SHUTDOWN_MS: text }
      const flags = { leaseMs: text, shutdownMs: text }
      const wrong = (name: string, min: number) =>
        `${name} is "${text}" but must be a whole number from ${min} to 86400000 (milliseconds)`
      const lease = [
        '--lease-ms (from the command line)',
        'HOLDFAST_LEASE_MS (from the environment)',
      ]
      const stop = ['--shutdown-ms (from the command line)', lease[1]!.replace('LEASE', 'SHUTDOWN')]
      const expected = [
        ...lease.map((name) => wrong(name, 1000)),
        // 0 means that nothing is waited for.
        ...(text === '0' ? [] : stop.map((name) => wrong(name, 0))),
      ]
      expect((await problemsOf({ env, flags })).toSorted()).toEqual(expected.toSorted())
    },
  )

  test.each([
    "'abc'",
    '-5',
    '0',
    '1.5',
    "'1e3'",
    "'+5'",
    'Infinity',
    'NaN',
    '99999999999',
    "'500'",
  ])(
    'nor is a timeout of %s in a config file replaced by the default (scenario 62)',
    async (code) => {
      configFile(`export default { runs: { review: { timeoutMs: ${code} } } }`)
      expect(await problemsOf({})).toEqual([
        expect.stringMatching(
          /runs\.review\.timeoutMs is .+ but must be a whole number from 1000 to 2147483647$/,
        ),
      ])
    },
  )

  test('an empty flag is an error, not a default', async () => {
    expect(await problemsOf({ flags: { port: '' } })).toHaveLength(1)
  })

  test.each([
    ['HOLDFAST_LEASE_MS', '999'],
    ['HOLDFAST_LEASE_MS', '86400001'],
    ['HOLDFAST_PORT', '65536'],
    ['HOLDFAST_PORT', '9'.repeat(400)],
  ])('%s has limits', async (name, text) => {
    expect(await problemsOf({ env: { [name]: text } })).toHaveLength(1)
  })

  test('spaces around a value do not count', async () => {
    const settings = await load({ env: { HOLDFAST_PORT: ' 500 ' }, flags: { leaseMs: '\t1000\n' } })
    expect(settings).toMatchObject({ port: 500, leaseMs: 1000 })
  })

  test.each([
    'NaN',
    'Infinity',
    '1.5',
    '-1',
    "'1'",
    'true',
    'null',
    '() => 1',
    '{}',
    '10n',
    'Symbol()',
  ])('a config file may not set a port of %s', async (code) => {
    configFile(`export default { port: ${code} }`)
    expect(await problemsOf({})).toHaveLength(1)
  })
})

describe('other values', () => {
  test.each([
    ['HOLDFAST_HOST', 'a b'],
    ['HOLDFAST_LOG_LEVEL', 'loud'],
    ['HOLDFAST_PUBLIC_URL', 'example.com'],
    ['HOLDFAST_PUBLIC_URL', 'ftp://example.com'],
    ['HOLDFAST_PUBLIC_URL', 'https://example.com/?a=1'],
    ['HOLDFAST_PUBLIC_URL', 'https://bot:hunter2@example.com'],
    ['GITHUB_API_URL', 'http://bot:hunter2@ghe.example/api'],
    ['GITHUB_API_URL', 'https://bot@ghe.example/api/v3'],
    ['HOLDFAST_DATABASE_URL', 'mysql://localhost/x'],
    ['HOLDFAST_DATABASE_URL', 'sqlite:'],
    ['HOLDFAST_DATABASE_URL', 'sqlite://folder/file.db'],
    ['HOLDFAST_DATABASE_URL', 'postgres://host:notaport/x'],
    ['HOLDFAST_DATABASE_URL', '/some/file.db'],
    ['HOLDFAST_ADMIN_TOKEN', 'two words'],
    ['GITHUB_TOKEN', 'two words'],
    ['GITHUB_WEBHOOK_SECRET', 'one,,two'],
    ['GITHUB_WEBHOOK_SECRET', ','],
    ['GITHUB_API_URL', 'api.github.com'],
    ['HOLDFAST_TRUSTED_PROXIES', 'proxy.example'],
    ['HOLDFAST_TRUSTED_PROXIES', '10.0.0.0/33'],
  ])('%s may not be %j', async (name, text) => {
    const problems = await problemsOf({ env: { [name]: text } })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(`${name} (from the environment)`)
    expect(problems[0]).toContain('must be')
    expect(problems[0]).not.toContain('hunter2')
  })

  test.each([
    [{ imageHosts: [' Example.com '] }, { imageHosts: ['example.com'] }],
    [{ trustedProxies: [' 10.0.0.1 '] }, { trustedProxies: ['10.0.0.1'] }],
  ])('of a config file mean the same as in the environment: %o', async (inline, settings) => {
    expect(await load({ inline })).toMatchObject(settings)
  })

  test.each(['http://github.example/api/v3', 'http://127.0.0.1.example', 'http://10.0.0.1'])(
    'GITHUB_API_URL may not be %s, because others could read the credentials on the way',
    async (GITHUB_API_URL) => {
      const problems = await problemsOf({ env: { GITHUB_API_URL } })
      expect(problems).toEqual([expect.stringContaining('unencrypted to another machine')])
    },
  )

  test.each(['http://localhost:1', 'http://127.0.0.1:1', 'http://[::1]:1', 'https://ghe.example'])(
    'GITHUB_API_URL may be %s',
    async (GITHUB_API_URL) => {
      expect((await load({ env: { GITHUB_API_URL } })).githubApiUrl).toBe(GITHUB_API_URL)
    },
  )

  test.each(['redis://redis:6379', 'rediss://me:secret@redis.example:6380/3'])(
    'the queue %s is understood beside PostgreSQL',
    async (HOLDFAST_QUEUE_URL) => {
      const env = { HOLDFAST_QUEUE_URL, HOLDFAST_DATABASE_URL: 'postgres://db/x' }
      expect((await load({ env })).queueUrl).toBe(HOLDFAST_QUEUE_URL)
    },
  )

  test.each([
    ['http://redis:6379', 'postgres://db/x', 'must be an address like redis://USER:PASSWORD@HOST'],
    ['redis://', 'postgres://db/x', 'must be an address like redis://'],
    ['redis://redis', 'sqlite:a.db', 'a queue has nobody to wake'],
    ['redis://redis', 'sqlite::memory:', 'a queue has nobody to wake'],
  ])('the queue %s beside the database %s is refused', async (queue, database, problem) => {
    const env = { HOLDFAST_QUEUE_URL: queue, HOLDFAST_DATABASE_URL: database }
    expect(await problemsOf({ env })).toEqual([expect.stringContaining(problem)])
  })

  test('a queue beside the default database is refused', async () => {
    expect(await problemsOf({ flags: { queueUrl: 'redis://redis' } })).toEqual([
      'HOLDFAST_QUEUE_URL is set, but the database is SQLite. Only one process works on a SQLite ' +
        'file, so a queue has nobody to wake. Unset it, or set HOLDFAST_DATABASE_URL to ' +
        'postgres://USER@HOST/NAME',
    ])
  })

  test('a wrong database is the only problem, if the queue is right', async () => {
    const env = { HOLDFAST_QUEUE_URL: 'redis://redis', HOLDFAST_DATABASE_URL: 'mysql://db/x' }
    expect(await problemsOf({ env })).toEqual([expect.stringContaining('HOLDFAST_DATABASE_URL')])
  })

  test.each([
    ['HOLDFAST_ADMIN_TOKEN', 'hunter2 hunter2'],
    ['HOLDFAST_DATABASE_URL', 'mysql://me:hunter2@db/x'],
    ['HOLDFAST_QUEUE_URL', 'http://me:hunter2@redis'],
    ['GITHUB_PRIVATE_KEY', 'hunter2'],
    ['GITHUB_WEBHOOK_SECRET', 'hunter2,,'],
  ])('the error for a wrong %s does not repeat it', async (name, text) => {
    const problems = await problemsOf({ env: { [name]: text } })
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.join()).not.toContain('hunter2')
  })

  test('a very long wrong value is shortened in the error', async () => {
    const [problem] = await problemsOf({ env: { HOLDFAST_LOG_LEVEL: 'x'.repeat(10_000) } })
    expect(problem?.length).toBeLessThan(250)
  })

  test.each([
    ['sqlite:/abs/data.db', { kind: 'sqlite', path: '/abs/data.db' }],
    ['sqlite:///abs/data.db', { kind: 'sqlite', path: '/abs/data.db' }],
    ['sqlite::memory:', { kind: 'sqlite', path: ':memory:' }],
    ['postgres://me@db/x', { kind: 'postgres', url: 'postgres://me@db/x' }],
    ['postgresql:///x?host=/run', { kind: 'postgres', url: 'postgresql:///x?host=/run' }],
  ])('the database %s is understood', async (text, database) => {
    expect((await load({ flags: { databaseUrl: text } })).database).toEqual(database)
  })

  test('a relative database file belongs to the working directory', async () => {
    const { database } = await load({ flags: { databaseUrl: 'sqlite:sub/data.db' } })
    expect(database).toEqual({ kind: 'sqlite', path: join(cwd, 'sub', 'data.db') })
  })

  test('an address loses its trailing slash', async () => {
    const settings = await load({ env: { HOLDFAST_PUBLIC_URL: 'https://example.com/bot/' } })
    expect(settings.publicUrl).toBe('https://example.com/bot')
  })

  test.each(['adminToken', 'prot', 'work'])('%s is not a flag', async (key) => {
    const [problem] = await problemsOf({ flags: { [key]: 'hunter2' } })
    expect(problem).toMatch(key === 'prot' ? /Did you mean "--port"\?/ : /Options: --/)
    expect(problem).not.toContain('hunter2')
  })
})

describe('the mode', () => {
  const GITHUB_WEBHOOK_SECRET = 'old, new'
  const app = { GITHUB_APP_ID: '12', GITHUB_PRIVATE_KEY: pem }

  test.each([
    [{}, 'sandbox'],
    [{ GITHUB_TOKEN: 't' }, 'sandbox'],
    [{ GITHUB_WEBHOOK_SECRET }, 'sandbox'],
    [{ ...app }, 'sandbox'],
    [{ GITHUB_TOKEN: 't', GITHUB_WEBHOOK_SECRET: '' }, 'sandbox'],
    [{ GITHUB_TOKEN: 't', GITHUB_WEBHOOK_SECRET }, 'live'],
    [{ ...app, GITHUB_WEBHOOK_SECRET }, 'live'],
  ])('%o is %s', async (env, mode) => {
    expect((await load({ env })).mode).toBe(mode)
  })

  test('a private key that cannot be read is one error', async () => {
    const env = { GITHUB_APP_ID: '12', GITHUB_PRIVATE_KEY_FILE: 'nope.pem' }
    expect(await problemsOf({ env })).toEqual([expect.stringContaining('does not exist')])
  })

  test.each([
    [{ GITHUB_APP_ID: '12' }, 'GITHUB_APP_ID is set, but GITHUB_PRIVATE_KEY'],
    [{ GITHUB_PRIVATE_KEY: pem }, 'GITHUB_PRIVATE_KEY is set, but GITHUB_APP_ID'],
  ])('half an App is an error (%o)', async (env, message) => {
    expect(await problemsOf({ env })).toEqual([`${message} is not. A GitHub App needs both`])
  })

  test('a wrong App id is one problem, not two', async () => {
    expect(await problemsOf({ env: { ...app, GITHUB_APP_ID: 'my app' } })).toHaveLength(1)
  })

  test('several webhook secrets are separated', async () => {
    const settings = await load({ env: { GITHUB_WEBHOOK_SECRET } })
    expect(settings.githubWebhookSecrets).toEqual(['old', 'new'])
  })

  test('a key on one line gets its line breaks back', async () => {
    const env = { ...app, GITHUB_PRIVATE_KEY: pem.replaceAll('\n', '\\n') }
    expect((await load({ env })).githubPrivateKey).toBe(pem)
  })
})

describe('the description for logs', () => {
  test('contains no secret and no password', async () => {
    const env = {
      HOLDFAST_ADMIN_TOKEN: 'hunter2',
      HOLDFAST_DATABASE_URL: 'postgres://me:hunter2@db/x?sslpassword=hunter2',
      GITHUB_TOKEN: 'hunter2',
      GITHUB_APP_ID: '12',
      GITHUB_PRIVATE_KEY: pem.replace('MIIE', 'hunter2'),
      GITHUB_WEBHOOK_SECRET: 'hunter2',
    }
    const described = describeSettings(await load({ env }))
    expect(JSON.stringify(described)).not.toContain('hunter2')
    expect(described).toMatchObject({
      adminToken: '(given)',
      database: 'postgres://me:***@db/x?sslpassword=***',
      mode: 'live',
      port: 8787,
    })
  })

  test('contains the settings of single channels', async () => {
    const channels = { 'github-status': { retry: { maxRetries: 3 } } }
    expect(describeChanges(await load({ inline: { channels } }))).toEqual(
      expect.objectContaining({ channels }),
    )
    expect(describeChanges(await load())).not.toHaveProperty('channels')
  })

  test('shows what was not given', async () => {
    expect(describeSettings(await load())).toMatchObject({
      adminToken: null,
      githubWebhookSecrets: null,
      database: `sqlite:${join(cwd, 'data', 'holdfast.db')}`,
    })
  })
})
