import { expect, test } from 'vitest'
import { FakeWorld } from '../../../test/cli/fake-world.ts'
import type { Simulated } from '../../simulation/simulate.ts'
import { paintFor } from '../output/paint.ts'
import { jsonReport, textReport } from './simulate-report.ts'

test('one seed gives the same story as JSON every time', async () => {
  const digests: unknown[] = []
  for (let times = 0; times < 2; times += 1) {
    const world = new FakeWorld()
    expect(await world.run('simulate', '--seed', '7', '--json')).toBe(0)
    const report = JSON.parse(world.stdout) as Record<string, unknown>
    expect(report).toMatchObject({ seeds: 1, first_seed: 7, violations: [] })
    digests.push(report['digest'])
  }
  expect(digests[0]).toMatch(/^[0-9a-f]{16}$/)
  expect(digests[1]).toBe(digests[0])
})

test('the story is printed line by line', async () => {
  const world = new FakeWorld()
  expect(await world.run('simulate', '--seed', '7', '--story')).toBe(0)
  expect(world.stdout).toContain('node 1   starts, generation 1')
  expect(world.stdout).toContain('Rules checked')
  expect(world.stdout).toContain('No violations.')
})

test.each<readonly [readonly string[], string]>([
  ...['0', '-1', '1.5', '1000001', '1e2', '0x10', 'x', ''].map(
    (wrong) => [['--seeds', wrong], '--seeds must be a whole number from 1 to 1000000'] as const,
  ),
  ...['-1', '1.5', '2147483649', '9'.repeat(30), 'x'].map(
    (wrong) => [['--seed', wrong], '--seed must be a whole number from 0 to 2147483648'] as const,
  ),
  [['--sede', '1'], '--seed'],
])('%j is wrong usage', async (flags, named) => {
  const world = new FakeWorld()
  expect(await world.run('simulate', ...flags)).toBe(2)
  expect(world.stderr).toContain(named)
})

const broken: Simulated = {
  seeds: 3,
  seedsPerSecond: 12.34,
  faults: new Map([['lost-answer', 2]]),
  situations: new Map([
    ['clock changes', 4],
    ['restores of an older database', 0],
  ]),
  checks: new Map([['6', 5]]),
  rules: new Map([['6', 'one anchor per target']]),
  broken: [
    {
      seed: 9,
      violations: [{ rule: '6', text: 'two comments stand there' }],
      story: Array.from({ length: 60 }, (_, at) => `event ${at}`),
    },
  ],
}
const played = { simulated: broken, first: 7, asked: 1000, digests: new Map<number, string>() }

test('a violation is printed with its rule, what came before it, and how to repeat it', () => {
  const text = textReport(played, paintFor(false))
  expect(text).toContain('3 of 1000 seeds from 7 (stopped at a violation), 12.3 seeds per second')
  expect(text).toContain('Seed 9 breaks a rule\n  6: two comments stand there')
  expect(text).toContain('event 59')
  expect(text).not.toContain('event 19\n')
  expect(text).toContain('holdfast simulate --seed 9')
  expect(text).toContain('4  clock changes\n        0  restores of an older database\n')
  expect(jsonReport(played)).toMatchObject({ seeds: 3, seeds_asked: 1000 })
  expect(jsonReport(played).violations).toMatchObject([
    { seed: 9, rule: '6', replay: 'holdfast simulate --seed 9' },
  ])
})

test('the rules are printed in the order of their numbers', () => {
  const rules: Simulated['rules'] = new Map([
    ['1', ''],
    ['8', ''],
    ['12', ''],
    ['8c', ''],
    ['2b', ''],
    ['8b', ''],
    ['2', ''],
  ])
  const text = textReport({ ...played, simulated: { ...broken, rules } }, paintFor(false))
  const [, list = ''] = /Rules checked\n([^]*?)\n\n/.exec(text) ?? []
  const numbers = list.split('\n').map((line) => /\d+\s+(\w+):/.exec(line)?.[1])
  expect(numbers).toEqual(['1', '2', '2b', '8', '8b', '8c', '12'])
})

test('if all seeds were run, only their number is printed', () => {
  const all = { ...played, simulated: { ...broken, broken: [] }, asked: 3 }
  expect(textReport(all, paintFor(false))).toContain('3 seeds from 7, 12.3 seeds per second')
})
