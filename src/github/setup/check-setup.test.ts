// Goal: doctor gets every problem of a setup with its remedy, and always gets an answer.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startFakeApi, type FakeApi, type FakeAnswer } from '../../../test/github/fake-api.ts'
import { appCredentials, clientOf, theToken } from '../../../test/github/github-under-test.ts'
import type { Finding } from '../../domain/finding.ts'

let api: FakeApi
beforeEach(async () => {
  api = await startFakeApi()
})
afterEach(() => api.close())

const publicUrl = 'https://hooks.acme.example'
const rate = (remaining: number): FakeAnswer => ({
  body: { resources: { core: { limit: 5000, remaining, reset: 1_800_000_000 } } },
})

/** As doctor shows them; checks that exactly the findings that are not ok have a remedy. */
const linesOf = (findings: readonly Finding[]) =>
  findings.map(({ check, level, detail, remedy }) => {
    expect(remedy === null, check).toBe(level === 'ok')
    return `${level} ${check}: ${detail}`
  })

/** All findings that are not ok. */
const troubles = (findings: readonly Finding[]) =>
  linesOf(findings).filter((line) => !line.startsWith('ok '))

function clockOfGitHub(clock: { wall: number }, aheadMs = 0): Record<string, string> {
  return { date: new Date(clock.wall + aheadMs).toUTCString() }
}

describe('with a token', () => {
  interface SetUp {
    readonly publicUrl?: string
    readonly aheadMs?: number
    readonly events?: readonly string[]
  }

  function setUp(user: FakeAnswer, options: SetUp = {}) {
    const { publicUrl = null, events } = options
    const client = clientOf(api.url, { publicUrl, ...(events && { events }) })
    const date = clockOfGitHub(client.clock, options.aheadMs)
    api.on('GET /user', { ...user, headers: { ...date, ...user.headers } })
    api.on('GET /rate_limit', { ...rate(4990), headers: date })
    return client.github
  }
  const user = { body: { login: 'acme-bot', id: 42 } }
  const scoped = (scopes: string): FakeAnswer => ({
    ...user,
    headers: { 'x-oauth-scopes': scopes },
  })

  it('every check is reported, and webhooks must be checked by hand', async () => {
    const findings = await setUp(scoped('gist, repo'), { publicUrl }).checkSetup()
    expect(linesOf(findings)).toEqual([
      `ok github.api: GitHub answers at ${api.url}`,
      'ok github.credentials: GitHub accepts the token. It acts as acme-bot (user 42).',
      'ok github.scopes: The token has the scope repo.',
      'warning github.webhook: With a token, webhooks are set up by hand and cannot be checked ' +
        'from here.',
      'ok github.rate_limit: 4990 of 5000 calls left this hour.',
      'ok github.clock: The clocks of this machine and GitHub agree within a minute.',
    ])
    const { remedy } = findings.find(({ check }) => check === 'github.webhook')!
    expect(remedy).toContain('https://hooks.acme.example/webhooks/github')
    expect(remedy).toContain('application/json')
    expect(remedy).toContain('Pull request, Check run, Issues, Issue comment')
    expect(JSON.stringify(findings)).not.toContain(theToken)
  })

  it('without a run type that listens to events, no webhook is needed', async () => {
    const findings = await setUp(scoped('repo'), { events: [] }).checkSetup()
    expect(linesOf(findings)).toContain(
      'ok github.webhook: No run type listens to events, so no webhook is needed.',
    )
  })

  it.each([
    ['public_repo', 'ok github.scopes'],
    ['', 'problem github.scopes: The token has neither the scope repo nor public_repo.'],
    ['repo:status, read:org', 'problem github.scopes: The token has neither'],
  ])('the scopes %j lead to: %s', async (scopes, line) => {
    const findings = await setUp(scoped(scopes)).checkSetup()
    expect(linesOf(findings)).toContainEqual(expect.stringContaining(line))
  })

  it('a fine-grained token does not show its permissions', async () => {
    const findings = await setUp(user).checkSetup()
    const permissions = findings.find(({ check }) => check === 'github.permissions')!
    expect(permissions.level).toBe('warning')
    expect(permissions.remedy).toContain('Commit statuses: Read and write')
    expect(permissions.remedy).not.toContain('Checks')
  })

  it.each<[number, string]>([
    [401, 'problem github.credentials: GitHub refuses the token'],
    [403, 'warning github.credentials: GitHub accepts the token but does not say whose it is.'],
    [404, 'problem github.credentials: The server at GITHUB_API_URL does not know GET /user'],
  ])('the status %i leads to: %s', async (status, line) => {
    const lines = troubles(await setUp({ status }).checkSetup())
    expect(lines[0]).toContain(line)
  })

  it.each<[string, FakeAnswer, string]>([
    ['few left', rate(499), 'warning github.rate_limit: 499 of 5000'],
    ['enough left', rate(500), 'ok github.rate_limit: 500 of 5000'],
    ['an Enterprise without limits', { status: 404 }, 'ok github.rate_limit: This GitHub has no'],
    ['a limit', { status: 429 }, 'warning github.rate_limit: GitHub asked us to wait until'],
    ['no answer', { status: 502 }, 'warning github.rate_limit: It could not be checked'],
  ])('the calls that are left are reported: %s', async (_name, reply, line) => {
    const github = setUp(scoped('repo'))
    api.on('GET /rate_limit', reply)
    expect(linesOf(await github.checkSetup())).toContainEqual(expect.stringContaining(line))
  })

  it.each<[number, string]>([
    [-3_600_000, "warning github.clock: The clock of this machine is 3600 s ahead of GitHub's"],
    [61_000, "warning github.clock: The clock of this machine is 61 s behind GitHub's"],
    [60_000, 'ok github.clock'],
  ])('a clock of GitHub that is %i ms ahead leads to: %s', async (aheadMs, line) => {
    const findings = await setUp(scoped('repo'), { aheadMs }).checkSetup()
    expect(linesOf(findings).at(-1)).toContain(line)
  })
})

describe('an API that does not work', () => {
  it.each<[string, FakeAnswer, string]>([
    ['broken', { status: 502 }, 'problem github.api: GET /user: GitHub answered 502'],
    ['moved', { status: 301, headers: { location: '/x' } }, 'redirects to another address (301)'],
    [
      'not an API',
      { body: '<html>Sign in</html>' },
      'problem github.api: GET /user: GitHub answered',
    ],
    ['limited', { status: 429 }, 'warning github.api: GitHub asked us to wait until'],
  ])('is a finding: %s', async (_name, reply, line) => {
    api.on('GET /user', reply)
    const [finding] = linesOf(await clientOf(api.url).github.checkSetup())
    expect(finding).toContain(line)
  })

  it('is a finding if no server listens', async () => {
    const { url } = api
    await api.close()
    const findings = await clientOf(url).github.checkSetup()
    expect(linesOf(findings)).toEqual([
      `problem github.api: No connection to ${url} (ECONNREFUSED).`,
    ])
    api = await startFakeApi()
  })

  it('is a finding if the check itself has a bug', async () => {
    const scheduler = {
      soon: () => undefined,
      after: () => {
        throw new RangeError('ghp_secret')
      },
      afterInBackground: () => () => undefined,
    }
    const findings = await clientOf(api.url, { scheduler }).github.checkSetup()
    expect(linesOf(findings)).toEqual([
      'problem github.api: The check itself failed with RangeError.',
    ])
  })
})

describe('as an App', () => {
  const permissions = {
    pull_requests: 'write',
    issues: 'write',
    statuses: 'write',
    checks: 'write',
    metadata: 'read',
    contents: 'read',
  }
  const events = ['pull_request', 'check_run', 'issues', 'issue_comment']
  const app = { id: 12, slug: 'holdfast-bot', name: 'Holdfast Bot', permissions, events }
  const hook = {
    url: `${publicUrl}/webhooks/github`,
    content_type: 'json',
    secret: '********',
    insecure_ssl: '0',
  }
  const installation = { id: 9, account: { login: 'acme' }, permissions, events }

  interface World {
    readonly app?: object
    readonly hook?: object | null
    readonly installations?: readonly object[]
    readonly publicUrl?: string | null
    /** The status codes that GitHub got for its webhooks, newest first. */
    readonly answered?: readonly (number | null)[]
  }

  const delivered = (answered: number | null, id: number) => ({
    id,
    guid: `guid ${id}`,
    delivered_at: '2026-11-15T11:00:00Z',
    status_code: answered,
    event: 'pull_request',
    action: 'opened',
  })

  function setUp(world: World = {}) {
    const client = clientOf(api.url, {
      credentials: appCredentials,
      publicUrl: world.publicUrl === undefined ? publicUrl : world.publicUrl,
    })
    const headers = clockOfGitHub(client.clock)
    const on = (call: string, reply: FakeAnswer) => api.on(call, { ...reply, headers })
    on('GET /app', { body: { ...app, ...world.app } })
    on(
      'GET /app/hook/config',
      world.hook === null ? { status: 404 } : { body: { ...hook, ...world.hook } },
    )
    on('GET /app/hook/deliveries?per_page=30', { body: (world.answered ?? []).map(delivered) })
    on('GET /app/installations?per_page=100', { body: world.installations ?? [installation] })
    on('POST /app/installations/9/access_tokens', {
      body: { token: 'ghs_short', expires_at: '2999-01-01T00:00:00Z' },
    })
    on('GET /rate_limit', rate(5000))
    return client.github
  }

  it('a complete setup has no problem', async () => {
    expect(linesOf(await setUp().checkSetup())).toEqual([
      `ok github.api: GitHub answers at ${api.url}`,
      'ok github.credentials: GitHub accepts the App. It acts as holdfast-bot[bot] (App 12).',
      'ok github.permissions: The App requests all the permissions it needs.',
      'ok github.events: The App is subscribed to all the events it needs.',
      'ok github.webhook: Webhooks go to https://hooks.acme.example/webhooks/github',
      'ok github.deliveries: GitHub has sent no webhook in the last 3 days.',
      'ok github.installations: The App is installed for 1 account.',
      'ok github.rate_limit: 5000 of 5000 calls left this hour.',
      'ok github.clock: The clocks of this machine and GitHub agree within a minute.',
    ])
  })

  it.each([401, 404])('an App that GitHub does not know is a problem (%i)', async (status) => {
    const github = setUp()
    api.on('GET /app', { status })
    expect(troubles(await github.checkSetup())[0]).toBe(
      'problem github.credentials: GitHub rejects the App id with this private key ' +
        `(${status}).`,
    )
  })

  it.each<[string, string, string]>([
    ['pull_requests', 'read', 'Pull requests: Read and write'],
    ['issues', '', 'Issues: Read and write'],
    ['statuses', '', 'Commit statuses: Read and write'],
    ['checks', 'read', 'Checks: Read and write'],
    ['metadata', '', 'Metadata: Read-only'],
    ['contents', '', 'Contents: Read-only'],
  ])('the missing permission %s is a problem', async (name, access, remedy) => {
    const lacking = { ...permissions, [name]: access }
    const findings = await setUp({ app: { permissions: lacking } }).checkSetup()
    const [finding, ...others] = findings.filter(({ check }) => check === 'github.permissions')
    expect(others).toEqual([])
    expect(finding).toMatchObject({ level: 'problem' })
    expect(finding!.detail).toContain(`The App does not request the permission ${name}: `)
    expect(finding!.remedy).toContain(`Holdfast Bot → Permissions & events`)
    expect(finding!.remedy).toContain(remedy)
  })

  it('more permissions than needed are fine', async () => {
    const more = { ...permissions, contents: 'write', checks: 'admin', actions: 'read' }
    expect(troubles(await setUp({ app: { permissions: more } }).checkSetup())).toEqual([])
  })

  it('each missing event is reported', async () => {
    const findings = await setUp({ app: { events: ['push', 'issues'] } }).checkSetup()
    expect(troubles(findings)).toEqual([
      'problem github.events: The App is not subscribed to pull_request.',
      'problem github.events: The App is not subscribed to check_run.',
      'problem github.events: The App is not subscribed to issue_comment.',
    ])
    expect(findings.find(({ level }) => level === 'problem')!.remedy).toContain('tick Pull request')
  })

  const elsewhere = 'https://old.acme.example/webhooks/github'
  it.each<[string, World, string]>([
    ['none', { hook: null }, 'problem github.webhook: The App has no webhook address.'],
    ['an empty address', { hook: { url: '' } }, 'The App has no webhook address.'],
    [
      'another address',
      { hook: { url: elsewhere } },
      `Webhooks go to ${elsewhere}, not to this server.`,
    ],
    [
      'another path, with nothing to compare',
      { hook: { url: 'https://old.acme.example/hook?key=hunter2' }, publicUrl: null },
      'Webhooks go to https://old.acme.example/hook, which does not end with /webhooks/github',
    ],
    ['a form', { hook: { content_type: 'form' } }, 'Webhooks are sent as a form, not as JSON.'],
    ['no secret', { hook: { secret: undefined } }, 'Webhooks are not signed'],
    ['any certificate', { hook: { insecure_ssl: 1 } }, 'warning github.webhook: GitHub does not'],
    ['no address at all', { hook: { url: 'nowhere' } }, 'an address that cannot be read'],
  ])('a webhook with %s is reported', async (_name, world, line) => {
    const findings = await setUp(world).checkSetup()
    const lines = troubles(findings)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(line)
    expect(JSON.stringify(findings)).not.toContain('hunter2')
  })

  it.each<[string, World]>([
    ['nothing to compare with', { hook: { url: elsewhere }, publicUrl: null }],
    ['a slash at the end of ours', { publicUrl: `${publicUrl}/` }],
    ['another spelling of the host', { publicUrl: 'https://HOOKS.acme.example:443' }],
    [
      'a path before it',
      { hook: { url: `${publicUrl}/hf/webhooks/github` }, publicUrl: `${publicUrl}/hf` },
    ],
  ])('a webhook is fine with %s', async (_name, world) => {
    expect(troubles(await setUp(world).checkSetup())).toEqual([])
  })

  it.each<[readonly (number | null)[], string]>([
    [[200, 401], 'ok github.deliveries: The last webhook was accepted (200) at 2026-11-15T11:00'],
    [[null], 'ok github.deliveries: The last webhook was accepted (no status)'],
    [
      [401, 401, 202],
      'problem github.deliveries: The last 2 webhooks from GitHub ended with 401: the signature ' +
        'is wrong.',
    ],
    [[401], 'problem github.deliveries: The last webhook from GitHub ended with 401'],
    [Array.from({ length: 30 }, () => 401), 'The last 30 or more webhooks from GitHub ended with'],
    [[502, 200], 'warning github.deliveries: The last webhook from GitHub ended with 502'],
    [[0, 200], 'warning github.deliveries: The last webhook from GitHub could not be delivered'],
  ])('the last webhooks are reported if they were answered %j', async (answered, line) => {
    const findings = await setUp({ answered }).checkSetup()
    expect(linesOf(findings)).toContainEqual(expect.stringContaining(line))
    const { remedy, level } = findings.find(({ check }) => check === 'github.deliveries')!
    if (level === 'problem') expect(remedy).toMatch(/secret as in GITHUB_WEBHOOK_SECRET/)
  })

  it('an App that is not installed, suspended or short of permissions is reported', async () => {
    const nowhere = await setUp({ installations: [] }).checkSetup()
    expect(troubles(nowhere)).toEqual(['problem github.installations: The App is not installed.'])
    const old = { ...permissions, checks: 'read', statuses: undefined }
    const partly = await setUp({
      installations: [
        installation,
        { ...installation, account: { login: 'sleepy' }, suspended_at: '2026-01-01T00:00:00Z' },
        { ...installation, account: { login: 'slow' }, permissions: old },
      ],
    }).checkSetup()
    expect(troubles(partly)).toEqual([
      'warning github.installations: The installation for sleepy is suspended.',
      'problem github.installations: slow has not granted statuses: write, checks: write.',
    ])
  })

  it('a part that cannot be checked does not hide the others', async () => {
    const github = setUp({ app: { events: [] } })
    const headers = { date: new Date(Date.parse('2026-11-15T12:00:00Z')).toUTCString() }
    api.on('GET /app/hook/config', { status: 502, headers })
    api.on('GET /app/hook/deliveries?per_page=30', { status: 502, headers })
    api.on('GET /app/installations?per_page=100', { status: 503, headers })
    const lines = troubles(await github.checkSetup())
    expect(lines).toHaveLength(8)
    expect(lines[4]).toContain('warning github.webhook: It could not be checked')
    expect(lines[5]).toContain('warning github.deliveries: It could not be checked')
    expect(lines[6]).toContain('warning github.installations: It could not be checked')
    expect(lines[7]).toContain('warning github.rate_limit: It could not be checked')
  })
})
