import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { StoreUnavailableError } from '../../errors.ts'
import { FakeWorld } from '../../../test/cli/fake-world.ts'

const create = (world: FakeWorld, ...argv: readonly string[]) =>
  world.run('token', 'create', ...argv)

test('a database that is made for a token is named, because it may be the wrong one', async () => {
  const world = new FakeWorld()
  const path = join(world.cwd, 'data', 'holdfast.db')
  const note = `holdfast: This is the new database ${path}; no server has used it.`
  expect(await create(world, '--scope', 'read')).toBe(0)
  expect(world.stderr.replaceAll('\n', ' ')).toContain(note)
  world.stderr = ''
  writeFileSync(path, '', { mode: 0o600 })
  expect(await create(world, '--scope', 'read')).toBe(0)
  expect(world.stderr).not.toContain('new database')
})

describe('the arguments of token create', () => {
  test.each(['admin', 'operator', 'worker', 'read', 'bot:telegram', `bot:a${'-'.repeat(31)}`])(
    'the scope %s is accepted',
    async (scope) => {
      const world = new FakeWorld()
      expect(await create(world, '--scope', scope)).toBe(0)
      expect(world.madeTokens).toMatchObject([{ scope, name: null, userId: null, actor: 'cli' }])
    },
  )

  test.each(['', 'Admin', 'run:1', 'bot:', 'bot:Telegram', `bot:a${'-'.repeat(32)}`, 'read\n,'])(
    'the scope %j is wrong usage',
    async (scope) => {
      const world = new FakeWorld()
      expect(await create(world, '--scope', scope)).toBe(2)
      expect(world.stderr).toContain('--scope must be admin, operator, worker, read or bot:CHANNEL')
      expect(world.madeTokens).toEqual([])
    },
  )

  test('a missing scope is wrong usage', async () => {
    const world = new FakeWorld()
    expect(await create(world)).toBe(2)
    expect(world.stderr).toContain('--scope is missing')
  })

  test.each(['0', '-1', '1.5', '1e3', '+5', 'abc', '', '99999999999999999999'])(
    'the user id %j is wrong usage',
    async (userId) => {
      const world = new FakeWorld()
      expect(await create(world, '--scope', 'read', `--user-id=${userId}`)).toBe(2)
      expect(world.stderr).toContain('--user-id must be a positive whole number')
    },
  )

  test('limits and an expiry are passed on', async () => {
    const world = new FakeWorld()
    const now = 1_767_225_600_000
    Object.assign(world, { clock: { ...world.clock, wallMs: () => now } })
    const limits = ['--repo', 'Acme/*', '--repo', 'acme/app', '--type', 'review']
    expect(await create(world, '--scope', 'worker', ...limits, '--expires', '30d')).toBe(0)
    const expiresAt = now + 30 * 86_400_000
    expect(world.madeTokens).toMatchObject([
      { repos: ['acme/*', 'acme/app'], types: ['review'], expiresAt },
    ])
  })

  test.each([
    [['--expires', 'soon'], '--expires must be a time like 30d'],
    [['--expires', '0d'], '--expires must be a time like 30d'],
    [['--expires', '999999w'], '--expires'],
    [['--repo', 'acme'], '--repo must be OWNER/NAME'],
    [['--type', 'Review'], '--type must be'],
    [['--scope', 'admin', '--repo', 'acme/*'], '--repo cannot limit the scope admin'],
  ])('%j is wrong usage', async (argv, message) => {
    const world = new FakeWorld()
    expect(await create(world, '--scope', 'read', ...argv)).toBe(2)
    expect(world.stderr).toContain(message)
  })

  test('an empty name is wrong usage', async () => {
    const world = new FakeWorld()
    expect(await create(world, '--scope', 'read', '--name', ' ')).toBe(2)
    expect(world.stderr).toContain('--name')
  })
})

describe('directly in the database', () => {
  test('prints only the token, and notes on standard error', async () => {
    const world = new FakeWorld()
    expect(await create(world, '--scope', 'read', '--name', 'ann', '--user-id', '7')).toBe(0)
    const secret = world.madeTokens[0]?.secret
    expect(world.stdout).toBe(`hft_tok_1.${String(secret)}\n`)
    expect(world.stderr).toContain('Created tok_1 with scope read')
    expect(world.stderr).not.toContain(String(secret))
    expect(world.madeTokens).toMatchObject([{ name: 'ann', userId: 7 }])
    expect(world.storesOpen).toBe(0)
  })

  test('prints JSON with the flag for it', async () => {
    const world = new FakeWorld()
    expect(await create(world, '--scope', 'read', '--json')).toBe(0)
    const token = `hft_tok_1.${String(world.madeTokens[0]?.secret)}`
    expect(JSON.parse(world.stdout)).toEqual({ id: 'tok_1', token, scope: 'read' })
  })

  test('ends with 3 if the store is down', async () => {
    const world = new FakeWorld()
    world.openStore = () => Promise.reject(new StoreUnavailableError('down', 'no answer'))
    expect(await create(world, '--scope', 'read')).toBe(3)
    expect(world.stdout).toBe('')
  })

  test.each([
    [['--token', 'x'], '--token is for a server'],
    [['--database-url', 'sqlite::memory:'], 'belongs to the process that serves it'],
  ])('%j is wrong usage', async (argv, message) => {
    const world = new FakeWorld()
    expect(await create(world, '--scope', 'read', ...argv)).toBe(2)
    expect(world.stderr).toContain(message)
  })
})

describe('through a server', () => {
  const url = ['--scope', 'read', '--url', 'http://holdfast.test:8787/']
  const answering = (status: number, body: unknown) => {
    const world = new FakeWorld()
    const requests: { url: string; init: RequestInit }[] = []
    world.fetch = (address, init) => {
      requests.push({ url: address as string, init: init ?? {} })
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return Promise.resolve(new Response(text, { status }))
    }
    return { world, requests }
  }

  test('sends the bearer token and prints the answer', async () => {
    const { world, requests } = answering(201, { id: 'tok_9', token: 'hft_tok_9.x' })
    expect(await create(world, ...url, '--token', 'boss', '--user-id', '4', '--json')).toBe(0)
    expect(JSON.parse(world.stdout)).toEqual({ id: 'tok_9', token: 'hft_tok_9.x', scope: 'read' })
    expect(requests).toMatchObject([
      {
        url: 'http://holdfast.test:8787/v1/tokens',
        init: {
          method: 'POST',
          redirect: 'manual',
          headers: { authorization: 'Bearer boss' },
          body: '{"scope":"read","user_id":4}',
        },
      },
    ])
    expect(world.storesOpen).toBe(0)
    expect(world.timers.size).toBe(0)
  })

  test.each([
    [{ HOLDFAST_TOKEN: 'one', HOLDFAST_ADMIN_TOKEN: 'two' }, 'one'],
    [{ HOLDFAST_ADMIN_TOKEN: 'two' }, 'two'],
    [{ HOLDFAST_TOKEN_FILE: 'token-file' }, 'three'],
  ])('takes the bearer token from %o', async (env, bearer) => {
    const { world, requests } = answering(201, { id: 'tok_9', token: 't' })
    writeFileSync(join(world.cwd, 'token-file'), 'three\n')
    world.env = { ...env }
    expect(await create(world, ...url)).toBe(0)
    expect(requests[0]?.init.headers).toMatchObject({ authorization: `Bearer ${bearer}` })
  })

  test.each([
    [{}, [], '--url needs a token'],
    [{ HOLDFAST_TOKEN: '' }, [], 'HOLDFAST_TOKEN is empty'],
    [{ HOLDFAST_TOKEN_FILE: 'missing' }, [], 'does not exist'],
    [{}, ['--token', 'two words'], '--token is not a valid token'],
    [{ HOLDFAST_TOKEN: 'x' }, ['--data-dir', 'd'], 'cannot be used with flags for a database'],
    [{ HOLDFAST_TOKEN: 'x' }, ['--url', 'holdfast.test'], '--url must be an address like'],
  ])('with %o and %j is wrong usage', async (env, argv, message) => {
    const { world, requests } = answering(201, {})
    world.env = { ...env }
    expect(await create(world, ...url, ...argv)).toBe(2)
    expect(world.stderr).toContain(message)
    expect(requests).toEqual([])
  })

  test.each([
    [401, { title: 'Unauthorized', detail: 'wrong token' }, 1, 'answered 401: wrong token'],
    [401, { hint: 'Send a token as "Authorization"' }, 1, 'Set HOLDFAST_TOKEN to a valid token'],
    [403, { title: 'Forbidden' }, 1, 'answered 403: Forbidden'],
    [302, '', 1, 'answered 302'],
    [500, '<html>', 1, 'answered 500'],
    [503, { detail: 'the store is away' }, 3, 'answered 503: the store is away'],
    [200, '<html>', 1, 'is it a Holdfast server?'],
    [200, 'null', 1, 'is it a Holdfast server?'],
    [201, { id: 'tok_9' }, 1, 'is it a Holdfast server?'],
  ])('an answer of %i %j ends with %i', async (status, body, code, message) => {
    const { world } = answering(status, body)
    expect(await create(world, ...url, '--token', 'hunter2')).toBe(code)
    expect(world.stderr).toContain(message)
    expect(world.stderr).not.toContain('hunter2')
    expect(world.stdout).toBe('')
  })

  test('a server that cannot be reached ends with 3', async () => {
    const world = new FakeWorld()
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    world.fetch = () => Promise.reject(new TypeError('fetch failed', { cause }))
    expect(await create(world, ...url, '--token', 'hunter2')).toBe(3)
    expect(world.stderr).toContain('http://holdfast.test:8787 could not be reached: ECONNREFUSED')
    expect(world.stderr).toContain('--url or HOLDFAST_URL names it')
  })

  test('a server that never answers ends with 3', async () => {
    const world = new FakeWorld()
    world.fetch = (_, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))
        world.timers.get(30_000)?.()
      })
    expect(await create(world, ...url, '--token', 'hunter2')).toBe(3)
    expect(world.stderr).toContain('no answer in 30 s')
  })
})
