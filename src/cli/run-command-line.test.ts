import { describe, expect, test } from 'vitest'
import { optionEntries } from '../settings/options/options.ts'
import { FakeWorld } from '../../test/cli/fake-world.ts'

describe('help', () => {
  test.each([
    [['--help'], 'Usage: holdfast [options]'],
    [['-h'], 'Usage: holdfast [options]'],
    [['help', 'serve'], 'Usage: holdfast serve'],
    [['serve', '--help'], 'Usage: holdfast serve'],
    [['token', '--help'], 'Usage: holdfast token'],
    [['token', 'create', '--help'], 'Usage: holdfast token create'],
  ])('%j is answered on standard output', async (argv, start) => {
    const world = new FakeWorld()
    expect(await world.run(...argv)).toBe(0)
    expect(world.stdout).toContain(start)
    expect(world.stderr).toBe('')
  })

  test('of a group has the same words for its commands as the whole help', async () => {
    for (const argv of [['--help'], ['runs', '--help']]) {
      const world = new FakeWorld()
      await world.run(...argv)
      expect(world.stdout).toMatch(/^ {2}help \[command\] +print the help of a command$/m)
    }
  })

  test.each([[[]], [['token']]])('a missing command in %j is wrong usage', async (argv) => {
    const world = new FakeWorld()
    expect(await world.run(...argv)).toBe(2)
    expect(world.stderr).toContain('Usage: holdfast')
    expect(world.stdout).toBe('')
  })

  test('the help of serve has every setting with its variable', async () => {
    const world = new FakeWorld()
    await world.run('serve', '--help')
    const help = world.stdout.replace(/\s+/g, ' ')
    for (const [, entry] of optionEntries) expect(help).toContain(entry.env)
  })

  test('the help of worker has no settings that only a server uses', async () => {
    const world = new FakeWorld()
    await world.run('worker', '--help')
    expect(world.stdout).toContain('--queue-url')
    expect(world.stdout).not.toMatch(/--(host|port|public-url|trusted-proxies)\b/)
    expect(world.stdout).not.toContain('Access:')
  })

  test.each(['--version', '-V'])('%s prints the version', async (flag) => {
    const world = new FakeWorld()
    expect(await world.run(flag)).toBe(0)
    expect(world.stdout).toBe('1.2.3\n')
  })
})

describe('wrong usage', () => {
  test.each([
    ['whyy', 'Unknown command "whyy". Did you mean "why"?'],
    ['sevre', 'Unknown command "sevre". Did you mean "serve"?'],
    ['delivery', 'Unknown command "delivery". Did you mean "deliveries"?'],
    ['token creat', 'Unknown command "creat". Did you mean "create"?'],
    ['help rns', 'Unknown command "rns". Did you mean "runs"?'],
    ['runs help shwo', 'Unknown command "shwo". Did you mean "show"?'],
    ['deliveries skip del_1', '--reason is missing\n'],
    ['runs --state sucess', 'or superseded. Did you mean "succeeded"?'],
    ['serve --log-level warning', 'Did you mean "warn"?'],
    ['token create --scope work', 'bot:CHANNEL. Did you mean "worker"?'],
    ['foo', 'Unknown command "foo". Commands: serve, worker, exec, runs,'],
    ['serve --prot 1', 'Unknown option "--prot". Did you mean "--port"?'],
    ['serve --prot=1', 'Unknown option "--prot". Did you mean "--port"?'],
    ['serve --lease 5', 'Did you mean "--lease-ms"?'],
    ['serve --nowork', 'Did you mean "--no-work"?'],
    ['serve -p', 'Unknown option "-p"\n'],
    ['--prot 1 serve', 'Did you mean "--port" of "holdfast serve"?'],
    ['--versoin', 'Did you mean "--version"?'],
    ['token --scop read', 'Did you mean "--scope" of "holdfast token create"?'],
    ['token create --scop read', 'Did you mean "--scope"?'],
    ['serve --port', '--port needs a value'],
    ['serve now', 'Too many arguments for "holdfast serve"\n'],
    ['serve hunter2', 'Too many arguments for "holdfast serve"\n'],
    ['serve 9000', 'for "holdfast serve". Did you mean "holdfast serve --port 9000"?'],
    ['runs steps confirm run_1 deploy', 'Did you mean "holdfast runs step confirm"?'],
    ['serve --database-url sqlite://hunter2', 'directly, without "//": sqlite:holdfast.db'],
    [
      'runs --repo widgets',
      "--repo must be owner/name in GitHub's characters, such as acme/widgets",
    ],
    ['serve --admin-token=hunter2', 'Set HOLDFAST_ADMIN_TOKEN or HOLDFAST_ADMIN_TOKEN_FILE'],
    ['serve --github-token hunter2', 'Set GITHUB_TOKEN or GITHUB_TOKEN_FILE'],
    ['serve --github-webhook-secret hunter2', 'Set GITHUB_WEBHOOK_SECRET or'],
    ['serve --port abc', '--port (from the command line) is "abc" but must be a whole number'],
    ['serve --config missing.ts', 'missing.ts does not exist'],
    ['token create --data-dir x --database-url nope --scope read', '--database-url'],
  ])('%s', async (line, message) => {
    const world = new FakeWorld()
    expect(await world.run(...line.split(' '))).toBe(2)
    expect(world.stderr).toMatch(/^holdfast: /)
    expect(world.stderr).toContain(message)
    expect(world.stderr).not.toContain('hunter2')
    expect(world.stderr).not.toMatch(/\n\s+at /)
    expect(world.stdout).toBe('')
    expect(world.composed).toBeNull()
  })

  test('several wrong settings are reported together', async () => {
    const world = new FakeWorld()
    world.env = { HOLDFAST_PROT: '1' }
    expect(await world.run('serve', '--port', 'x')).toBe(2)
    expect(world.stderr).toMatch(
      /^holdfast: 2 problems:\n {2}- Unknown setting HOLDFAST_PROT.*\n {2}- --port.*\n$/,
    )
  })
})
