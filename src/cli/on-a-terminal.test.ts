// Goal: on a terminal, also a narrow one, rows fit and words explain.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FakeWorld } from '../../test/cli/fake-world.ts'
import { sha, storeWorld, type StoreWorld } from '../../test/cli/store-world.ts'
import { textWidth } from './output/text-width.ts'

let at: StoreWorld
beforeEach(async () => {
  at = await storeWorld()
})
afterEach(() => at.close())

const claim = (pr: number, head: string) =>
  at.runs.claim(
    {
      kind: 'pull_request',
      type: 'review',
      repo: 'Acme/Widgets',
      pr,
      baseSha: sha('a'),
      headSha: sha(head),
      lease: false,
    },
    'test',
  )

test('a run is shown to people in words, with the names and times of the JSON', async () => {
  const { run } = await claim(5, 'b')
  const id = String(run?.id)
  at.world.terminal.columns = 80
  const { stdout } = await at.command('runs', 'show', id)
  expect(stdout).toMatch(/^review of acme\/widgets#5\nWaits for a worker\.\n\n/)
  expect(stdout).toMatch(/^created_at +\d{4}-\d\d-\d\dT[\d:.]+Z \(.+\)$/m)
})

test.each([60, 80, 120, 200])('no row is wider than %i columns', async (columns) => {
  for (const pr of [5, 6]) await claim(pr, 'b')
  at.world.terminal.columns = columns
  for (const list of ['runs', 'deliveries', 'audit']) {
    const { stdout } = await at.command(list)
    for (const line of stdout.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(columns)
    expect(stdout).toMatch(/acme\/widgets#5|run_/)
  }
})

test.each([
  [60, /^[\d:]{8} {2}run\.claimed\n {2}run_\w{26} {2}test .*…$/m],
  [120, /^[\d:]{8} {2}run\.claimed {7} {2}run_\w{26} {2}test .*…$/m],
])('the audit can be followed on a terminal of %i columns', async (columns, line) => {
  await claim(1, '1')
  at.world.terminal.columns = columns
  at.world.stdout = ''
  const tail = at.world.run('audit', 'tail', '-n', '1')
  await at.world.untilPrinted('…')
  at.world.stop('SIGINT')
  await tail
  expect(at.world.stdout).toMatch(line)
  for (const one of at.world.stdout.split('\n')) {
    expect(textWidth(one)).toBeLessThanOrEqual(columns)
  }
})

describe.each([60, 80])('on a terminal of %i columns', (columns) => {
  const onTerminal = (world: FakeWorld): FakeWorld => {
    world.terminal.columns = columns
    world.terminal.errColumns = columns
    return world
  }
  /** Only a command, a path or a name is longer than a line, because it is never broken. */
  const expectToFit = (text: string): void => {
    expect(text).not.toBe('')
    for (const line of text.split('\n')) {
      if (textWidth(line) > columns)
        expect(line).toMatch(/^ *(\w+=\S+ )?holdfast |^ *[\w ]{0,16}\S+$/)
    }
  }

  test.each(['', 'serve', 'runs', 'deliveries', 'token create', 'migrate', 'simulate'])(
    'the help of "%s" is broken between words',
    async (command) => {
      const world = onTerminal(new FakeWorld())
      await world.run(...command.split(' ').filter(Boolean), '--help')
      expectToFit(world.stdout)
    },
  )

  test.each([
    'foo',
    'token create --scope god',
    'runs --state nope',
    'runs --url http://127.0.0.1:8787',
    'runs',
    'serve --admin-token x',
  ])('the error of "%s" is broken between words', async (line) => {
    const world = onTerminal(new FakeWorld())
    expect(await world.run(...line.split(' '))).toBeGreaterThan(0)
    expectToFit(world.stderr)
  })

  test('a start, a token, a restore and a simulation print text that fits', async () => {
    onTerminal(at.world)
    for (const line of [
      'token create --scope worker',
      'migrate --restored',
      'simulate --seed 1',
      'backup copy.db',
    ]) {
      const { stdout, stderr } = await at.command(...line.split(' '))
      expectToFit(stdout)
      if (stderr !== '') expectToFit(stderr)
    }
    const world = onTerminal(new FakeWorld())
    const now = world.clock.wallMs()
    const times = { restoredAt: now, copiedAt: now, lastReadAt: now + 60_000, servedAt: now }
    world.restoreNote = () => Promise.resolve({ ...times, open: 1, shown: 12 })
    const exit = world.run('serve')
    await world.printed.promise
    world.stop('SIGTERM')
    await exit
    expect(world.stderr).toContain('restored copy of')
    const notice = world.stderr.split('\n').filter((line) => !line.startsWith('{'))
    expectToFit(notice.join('\n'))
  })
})

test('a message to a pipe is one line, however long', async () => {
  const world = new FakeWorld()
  await world.run('foo')
  expect(world.stderr).toMatch(/^holdfast: Unknown command "foo"\. Commands: .*\n {2}See: .*\n$/)
})
