// Goal: on a terminal, also a narrow one, rows fit and words explain.
import { afterEach, beforeEach, expect, test } from 'vitest'
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
