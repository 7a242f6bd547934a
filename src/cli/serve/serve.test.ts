import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SetupError, StoreUnavailableError } from '../../errors.ts'
import type { OwnAccount } from '../../github.ts'
import { FakeWorld } from '../../../test/cli/fake-world.ts'

async function serving(...argv: readonly string[]) {
  const world = new FakeWorld()
  world.env = { HOLDFAST_LOG_LEVEL: 'warn' }
  const exit = world.run('serve', ...argv)
  await Promise.race([world.printed.promise, exit])
  return { world, exit }
}

describe('a server that starts', () => {
  test('says where it listens and ends with 0 after a signal', async () => {
    const { world, exit } = await serving()
    expect(world.stdout).toBe('holdfast listening on http://127.0.0.1:8787\n')
    world.stop('SIGTERM')
    expect(await exit).toBe(0)
    expect(world.closes).toBe(1)
    // A second signal may still come, and must not end the process with another exit code.
    expect(world.stopHandlers).toHaveLength(1)
    expect(world.timers.size).toBe(0)
  })

  test('shows the secrets that it created once, in words and not in the log', async () => {
    const { world, exit } = await serving('--log-level', 'trace')
    const { adminToken, webhookSecrets } = world.composed?.options ?? {}
    world.stop('SIGINT')
    await exit
    const json = world.stderr.split('\n').filter((line) => line.startsWith('{'))
    expect(json.length).toBeGreaterThan(0)
    expect(json.join()).not.toContain(String(adminToken))
    expect(json.join()).not.toContain(String(webhookSecrets?.[0]))
    expect(world.stderr).toContain(`  admin token     ${String(adminToken)}\n`)
    expect(world.stderr).toContain(`  webhook secret  ${String(webhookSecrets?.[0])}\n`)
    expect(world.stderr).toContain('New secrets, shown only this once:')
    expect(world.stdout).not.toContain(String(adminToken))

    const again = new FakeWorld()
    Object.assign(again, { cwd: world.cwd })
    const secondExit = again.run('serve')
    await again.printed.promise
    again.stop('SIGINT')
    await secondExit
    expect(again.composed?.options.adminToken).toBe(adminToken)
    expect(again.stderr).not.toContain(String(adminToken))
    expect(again.stderr).toContain(`  admin token     in ${join(world.cwd, 'data')}`)
  })

  test('logs where the API is, its settings and, at the end, that it stopped', async () => {
    const world = new FakeWorld()
    const exit = world.run('serve', '--port', '9000')
    await world.printed.promise
    world.stop('SIGTERM')
    await exit
    expect(world.stderr).toContain('  API             http://127.0.0.1:8787/docs\n')
    const log = world.stderr.split('\n').filter((line) => line.startsWith('{'))
    const lines = log.map((line) => JSON.parse(line) as { msg: string; settings?: object })
    expect(lines.map(({ msg }) => msg)).toEqual([
      'Settings that are not the default',
      'Stopping',
      'Stopped',
    ])
    expect(Object.keys(lines[0]?.settings ?? {}).sort()).toEqual([
      'dataDir',
      'database',
      'mode',
      'port',
    ])
  })

  test.each([
    ['0.0.0.0', true],
    ['127.0.0.1', false],
  ])('on %s warns of unencrypted tokens: %s', async (host, warns) => {
    const { world, exit } = await serving('--host', host)
    world.stop('SIGTERM')
    await exit
    const warning = `WARNING: HOLDFAST_HOST is ${host}, so other machines can reach this server`
    expect(world.stderr.includes(warning)).toBe(warns)
  })

  test('names pages that exist, wherever the package is installed', async () => {
    const { world, exit } = await serving()
    world.stop('SIGTERM')
    await exit
    const pages = world.stderr.match(/\/\S+\.md\b/g) ?? []
    expect(pages.map((page) => basename(page))).toEqual(['README.md', 'workers.md'])
    for (const page of pages) expect(existsSync(page)).toBe(true)
  })

  test('logs all settings at the debug level', async () => {
    const { world, exit } = await serving('--log-level', 'debug')
    world.stop('SIGTERM')
    await exit
    expect(world.stderr).toContain('"leaseMs":60000')
  })

  test('warns of credentials without a webhook secret before it creates a sandbox', async () => {
    const world = new FakeWorld()
    world.env = { GITHUB_TOKEN: 't' }
    let before = ''
    const { compose } = world
    world.compose = (...args) => {
      before = world.stderr
      return compose(...args)
    }
    const exit = world.run('serve')
    await world.printed.promise
    world.stop('SIGTERM')
    await exit
    expect(before).toContain('WARNING: GITHUB_TOKEN is set, but GITHUB_WEBHOOK_SECRET is not')
    expect(before).toContain(`sqlite:${join(world.cwd, 'data', 'holdfast.db')} stays a sandbox`)
  })

  test('does not warn again if the sandbox already exists', async () => {
    const world = new FakeWorld()
    world.env = { GITHUB_TOKEN: 't' }
    mkdirSync(join(world.cwd, 'data'), { mode: 0o700 })
    writeFileSync(join(world.cwd, 'data', 'holdfast.db'), '')
    const exit = world.run('serve')
    await world.printed.promise
    world.stop('SIGTERM')
    await exit
    expect(world.stderr).not.toContain('WARNING')
  })

  test('says that it is ready exactly once', async () => {
    const world = new FakeWorld()
    const exit = world.run('serve')
    await world.printed.promise
    world.stop('SIGTERM')
    await exit
    const all = world.stdout + world.stderr
    expect(all.match(/listening|is up|started|ready/gi)).toEqual(['listening'])
  })

  describe('with live credentials', () => {
    const live = {
      GITHUB_TOKEN: 't',
      GITHUB_WEBHOOK_SECRET: 'a-webhook-secret',
      HOLDFAST_LOG_LEVEL: 'warn',
    }

    async function started(
      env: Record<string, string>,
      account: OwnAccount | 'refused' | null = null,
    ) {
      const world = new FakeWorld()
      world.env = { ...live, ...env }
      world.ownAccount = () => Promise.resolve(account)
      const exit = world.run('serve')
      await world.printed.promise
      world.stop('SIGTERM')
      expect(await exit).toBe(0)
      return world.stderr
    }

    test('says that it runs on a restored copy, and what it does about that', async () => {
      const world = new FakeWorld()
      const restoredAt = world.clock.wallMs()
      const times = { restoredAt, copiedAt: 0, lastReadAt: restoredAt, servedAt: restoredAt }
      world.restoreNote = () => Promise.resolve({ ...times, open: 2, shown: 0 })
      const exit = world.run('serve')
      await world.printed.promise
      world.stop('SIGTERM')
      expect(await exit).toBe(0)
      expect(world.stderr).toMatch(/restored copy of .*; looks on GitHub for 2 open deliveries/)
      const folder = join(world.cwd, 'data')
      expect(world.stderr).toContain(
        `WARNING: admin-token and webhook-secret were not in ${folder}`,
      )
    })

    test('says nothing about the files that came with a restored copy', async () => {
      const world = new FakeWorld()
      const restoredAt = world.clock.wallMs()
      const times = { restoredAt, copiedAt: 0, lastReadAt: restoredAt, servedAt: restoredAt }
      world.restoreNote = () => Promise.resolve({ ...times, open: 2, shown: 0 })
      world.env = { ...live, HOLDFAST_ADMIN_TOKEN: 'given-by-the-environment' }
      const exit = world.run('serve')
      await world.printed.promise
      world.stop('SIGTERM')
      expect(await exit).toBe(0)
      expect(world.stderr).not.toContain('WARNING')
    })

    test('says that it publishes, as whom, where webhooks go, and what comes next', async () => {
      const account = { login: 'review-bot', id: 7, appId: null, kind: 'user' } as const
      const printed = await started({ HOLDFAST_PUBLIC_URL: 'https://bot.example' }, account)
      expect(printed).not.toContain('sandbox')
      expect(printed).toContain(
        '  mode            live: publishes on GitHub as review-bot (a token)\n',
      )
      expect(printed).toContain('  webhooks        https://bot.example/webhooks/github\n')
      expect(printed).toContain('  run types       review\n')
      expect(printed).toMatch(/next .*: npx holdfast doctor\n/)
    })

    test.each([
      [{}, 'HOLDFAST_PUBLIC_URL is not set, so GitHub cannot send webhooks here.'],
      [
        { HOLDFAST_PUBLIC_URL: 'http://localhost:8787' },
        'HOLDFAST_PUBLIC_URL leads to this machine only, so GitHub cannot send webhooks here.',
      ],
    ])('shows no address that GitHub cannot reach (%o)', async (env, why) => {
      const printed = await started(env)
      expect(printed).toContain(`  webhooks        ${why}\n`)
      expect(printed).not.toContain('/webhooks/github')
    })

    test('says that nothing is published while GitHub refuses the credentials', async () => {
      const printed = await started({}, 'refused')
      expect(printed).toContain(
        '  mode            live, but GitHub rejects the credentials (a token): ' +
          'nothing is published.\n',
      )
      expect(printed).not.toContain('publishes on GitHub')
    })

    test('says when GitHub has not named the account', async () => {
      const printed = await started({ HOLDFAST_ADMIN_TOKEN: 'an-admin-token-of-good-length' })
      expect(printed).toContain('with a token; GitHub has not named the account yet\n')
      expect(printed).toContain('the value of HOLDFAST_ADMIN_TOKEN\n')
    })
  })

  const on = '{ pull_request: ["opened"] }'
  test.each([
    ['a remote type', `{ review: {} }`, [], /Start a worker .*workers\.md/],
    ['a type that it executes', `{ review: { on: ${on}, run: () => ({}) } }`, [], null],
    [
      'a type that it would execute without --no-work',
      `{ review: { on: ${on}, run: () => ({}) } }`,
      ['--no-work'],
      /Start a process that does the work: npx holdfast worker\n/,
    ],
    ['a type that only claims start', '{ review: { on: {}, rerunOn: {} } }', [], /Claim a first/],
  ])('with %s, says what comes next', async (_what, runs, argv, hint) => {
    const world = new FakeWorld()
    writeFileSync(join(world.cwd, 'holdfast.config.ts'), `export default { runs: ${runs} }`)
    const exit = world.run('serve', ...argv)
    await world.printed.promise
    world.stop('SIGTERM')
    await exit
    if (hint === null) expect(world.stderr).not.toMatch(/Start a (worker|process)/)
    else expect(world.stderr).toMatch(hint)
    expect(world.stderr).toMatch(/ {2}next {12}\S/)
  })

  test.each([
    [[], true],
    [['--no-work'], false],
  ])('with %j has work %s', async (argv, work) => {
    const { world, exit } = await serving(...argv)
    expect(world.composed?.settings.work).toBe(work)
    world.stop('SIGTERM')
    await exit
  })
})

describe('stopping', () => {
  test('a second signal changes nothing while it drains (scenario 60)', async () => {
    const { world, exit } = await serving()
    const drained = Promise.withResolvers<number>()
    world.close = () => drained.promise
    world.stop('SIGTERM')
    await world.closing.promise
    world.stop('SIGTERM')
    world.stop('SIGINT')
    drained.resolve(0)
    expect(await exit).toBe(0)
    expect(world.closes).toBe(1)
  })

  test('a server that does not drain in 20 seconds ends with 1 (scenario 60)', async () => {
    const { world, exit } = await serving()
    world.close = () => new Promise(() => undefined)
    world.stop('SIGTERM')
    await world.closing.promise
    world.timers.get(20_000)?.()
    expect(await exit).toBe(1)
    expect(world.stderr).toContain(
      'still going on 20000 ms after the signal (HOLDFAST_SHUTDOWN_MS is 20000)',
    )
  })

  test('a signal during the start stops the server once it has started', async () => {
    const world = new FakeWorld()
    const listening = Promise.withResolvers<{ url: string }>()
    const asked = Promise.withResolvers<undefined>()
    world.listen = () => {
      asked.resolve(undefined)
      return listening.promise
    }
    const exit = world.run('serve')
    await asked.promise
    world.stop('SIGTERM')
    listening.resolve({ url: 'http://127.0.0.1:1' })
    expect(await exit).toBe(0)
    expect(world.closes).toBe(1)
  })

  test('a failure while closing is logged', async () => {
    const { world, exit } = await serving()
    world.close = () => Promise.reject(new Error('the disk is gone'))
    world.stop('SIGTERM')
    expect(await exit).toBe(1)
    expect(world.stderr).toContain('holdfast: The disk is gone')
  })
})

describe('a server that cannot start', () => {
  const nodeError = (code: string) => Object.assign(new Error(`listen ${code}`), { code })

  test.each([
    ['EADDRINUSE', 'Port 8787 on 127.0.0.1 is already in use', '--port N (0 picks a free one)'],
    ['EACCES', 'This user is not allowed to listen on port 8787', '--port N'],
    ['EADDRNOTAVAIL', '127.0.0.1 is not an address of this machine', '--host'],
    ['ENOTFOUND', '127.0.0.1 is not an address of this machine', '--host'],
    ['ESTRANGE', 'Listen ESTRANGE', ''],
  ])('because of %s says so and releases the store', async (code, message, hint) => {
    const world = new FakeWorld()
    world.env = { HOLDFAST_LOG_LEVEL: 'silent' }
    world.listen = () => Promise.reject(nodeError(code))
    expect(await world.run('serve')).toBe(1)
    expect(world.stderr).toContain(`holdfast: ${message}`)
    expect(world.stderr).toContain(hint)
    expect(world.stderr).not.toMatch(/\n\s+at /)
    expect(world.closes).toBe(1)
    expect(world.stopHandlers).toEqual([])
  })

  test.each([
    [new SetupError('db', 'The database is foreign', { hint: 'Choose another.' }), 1],
    [new StoreUnavailableError('down', 'PostgreSQL does not answer', { hint: 'Start it.' }), 3],
    [new Error('odd'), 1],
    [new Error(''), 1],
    [nodeError(''), 1],
  ])('because of %s ends with %i', async (error, code) => {
    const world = new FakeWorld()
    world.compose = () => Promise.reject(error)
    expect(await world.run('serve')).toBe(code)
    expect(world.stderr).toMatch(/^holdfast: /)
    expect(world.stderr).toContain(error.message)
    expect(world.stderr).not.toMatch(/\n\s+at /)
    expect(world.stdout).toBe('')
  })

  test('says only why, and the next start shows the secrets', async () => {
    const refused = new FakeWorld()
    refused.compose = () => Promise.reject(new SetupError('db', 'The database is foreign'))
    expect(await refused.run('serve')).toBe(1)
    expect(refused.stderr).toBe('holdfast: The database is foreign\n')

    const next = new FakeWorld()
    Object.assign(next, { cwd: refused.cwd })
    const exit = next.run('serve')
    await next.printed.promise
    next.stop('SIGTERM')
    await exit
    expect(next.stderr).toContain(`  admin token     ${String(next.composed?.options.adminToken)}`)
  })

  test('because its data folder cannot be created ends with 1', async () => {
    const world = new FakeWorld()
    writeFileSync(join(world.cwd, 'data'), '')
    expect(await world.run('serve')).toBe(1)
    expect(world.stderr).toContain('the data folder')
    expect(world.stderr).toContain('HOLDFAST_DATA_DIR')
  })

  test('on PostgreSQL without an admin token ends with 2', async () => {
    const world = new FakeWorld()
    expect(await world.run('serve', '--database-url', 'postgres://db/x')).toBe(2)
    expect(world.stderr).toContain('HOLDFAST_ADMIN_TOKEN is required')
  })
})
