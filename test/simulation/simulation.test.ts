/**
 * Goal: every rule holds in many simulated worlds full of faults, and the same seed gives the same
 * story.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { loopNames, type LoopName } from '../../src/node.ts'
import type { Scheduler } from '../../src/scheduler.ts'
import { ruleNames, type Rule } from '../../src/simulation/findings.ts'
import { NodePorts } from '../../src/simulation/node-ports.ts'
import { openSeedRunner, simulate, type SeedRunner } from '../../src/simulation/simulate.ts'

/** Seeds that once showed a fault, in the product or in a checker. */
const foundLater = [1119428672, 1142616848, 778819]

describe('a seed', () => {
  let runner: SeedRunner
  beforeAll(() => {
    runner = openSeedRunner()
  })
  afterAll(() => runner.close())

  it.each([3, 11])('%i gives the same story twice', async (seed) => {
    const first = await runner.run(seed, {})
    const second = await runner.run(seed, {})
    expect(second.story).toEqual(first.story)
    expect(second.digest).toBe(first.digest)
  })

  it('starts every background loop of a node', async ({ onTestFinished }) => {
    const started = new Set<LoopName>()
    type SchedulerFor = (this: NodePorts, loop: LoopName) => Scheduler
    const ports: { schedulerFor: SchedulerFor } = NodePorts.prototype
    const { schedulerFor } = ports
    const spy = vi.spyOn(ports, 'schedulerFor')
    onTestFinished(() => spy.mockRestore())
    spy.mockImplementation(function (this: NodePorts, loop) {
      const scheduler = schedulerFor.call(this, loop)
      const afterInBackground: Scheduler['afterInBackground'] = (ms, task) => {
        started.add(loop)
        return scheduler.afterInBackground(ms, task)
      }
      return { ...scheduler, afterInBackground }
    })
    // A world whose nodes execute runs themselves.
    await runner.run(1, {})
    expect([...started].sort()).toEqual([...loopNames].sort())
  })

  it('gives another story than the next seed', async () => {
    const digests = [await runner.run(1, {}), await runner.run(2, {})].map(({ digest }) => digest)
    expect(new Set(digests).size).toBe(2)
  })
})

it('holds every rule in a hundred worlds', { timeout: 600_000 }, async () => {
  const seeds = [...Array.from({ length: 100 }, (_, index) => index + 1), ...foundLater]
  const { broken, checks, faults, situations } = await simulate({ seeds, clock: systemClock })
  expect(broken.map(({ seed, violations }) => ({ seed, violations }))).toEqual([])
  for (const rule of Object.keys(ruleNames) as Rule[]) {
    expect(checks.get(rule), `rule ${rule} was checked`).toBeGreaterThan(0)
  }
  const kinds = [
    ...['lost-answer', 'delayed-commit', 'node crash', 'node pause', 'webhook drop'],
    ...['queue emptied', 'queue away', 'wake-up doubled', 'wake-up late', 'worker lost in a step'],
    'store: step not answered',
  ]
  for (const kind of kinds) expect(faults.get(kind), kind).toBeGreaterThan(0)
  // A situation that never occurred was never checked.
  const never = [...situations].flatMap(([name, times]) => (times === 0 ? [name] : []))
  expect(never).toEqual([])
})
