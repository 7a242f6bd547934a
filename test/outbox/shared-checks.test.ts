/**
 * Goal: pull requests that share a commit have a check run each, and the newest check run of a
 * name, which is the one that GitHub shows, agrees with the commit status.
 */
import { afterEach, describe, expect, test } from 'vitest'
import type { Claimed } from '../../src/runs/runs.ts'
import {
  baseSha,
  context,
  head,
  holderOf,
  hour,
  minute,
  openWorld,
  repo,
  second,
  type World,
  type WorldOptions,
} from './world.ts'

const otherBase = 'd'.repeat(40)

let world: World
afterEach(() => world.close())

async function start(options: WorldOptions = {}): Promise<void> {
  const announcement = { checkName: context, ...options.announcement }
  world = await openWorld({ app: true, ...options, announcement })
  world.startPublisher()
}

interface Opened {
  readonly pr?: number
  readonly base?: string
  readonly createdAt?: number
  /** Times in seconds, for events whose order matters. */
  readonly at?: number
}

async function claim({ pr = 5, base = baseSha, createdAt, at }: Opened = {}): Promise<Claimed> {
  const threadCreatedAt = createdAt ?? world.createdAt
  if (pr !== 5) {
    world.github.addPull(repo, {
      number: pr,
      headSha: head(1),
      baseSha: base,
      createdAt: threadCreatedAt,
    })
  }
  const commits = { repo, pr, baseSha: base, headSha: head(1) }
  const event = at !== undefined && {
    eventAt: Math.floor(world.createdAt / second) * second + at * second,
    action: 'edited',
    webhookId: `guid-${at}`,
  }
  const request = { kind: 'pull_request', type: 'review', ...commits, threadCreatedAt } as const
  const claimed = await world.act(world.runs.claim({ ...request, ...event }, 'test'))
  await world.time.pass(5 * second)
  return claimed
}

async function complete(claimed: Claimed, outcome: 'succeeded' | 'failed'): Promise<void> {
  const summary = `it ${outcome}`
  await world.act(world.runs.complete({ ...holderOf(claimed), outcome, summary }, 'test'))
  await world.time.pass(5 * second)
}

async function cancel({ run }: Claimed, passMs = hour): Promise<void> {
  await world.act(world.runs.cancel(run?.id ?? '', 'test'))
  await world.time.pass(passMs)
}

const checks = () => world.github.checkRuns(repo, head(1)).toSorted((a, b) => a.id - b.id)
const conclusions = () => checks().map(({ conclusion }) => conclusion)
/** What GitHub shows: the last status, and the newest check run. */
const shown = () => ({
  status: world.github.latestStatus(repo, head(1), context)?.state,
  check: conclusions().at(-1),
})

describe('two pull requests with the same base and head have a check run each', () => {
  test('if the second is older than the store, and therefore looks for its own first', async () => {
    await start({ youngThread: false })
    const five = await claim()
    const six = await claim({ pr: 6 })
    expect(checks()).toHaveLength(2)
    await complete(five, 'failed')
    await cancel(six)
    expect(conclusions().slice(0, 2)).toEqual(['failure', 'cancelled'])
  })

  test('if the answer to the create of the second is lost', async () => {
    await start()
    const five = await claim()
    const { faults } = world.github
    faults.add({ on: { route: /^POST .*\/check-runs/, times: 1 }, fault: faults.serverError(502) })
    const six = await claim({ pr: 6 })
    await world.time.pass(20 * minute)
    await complete(five, 'succeeded')
    await complete(six, 'failed')
    expect(conclusions().slice(0, 2)).toEqual(['success', 'failure'])
  })

  test('also for a check that their runs publish themselves', async () => {
    await start({ announcement: { checkName: null } })
    const times = { startedAt: null, completedAt: null }
    const words = { title: 'lint', summary: '', detailsUrl: null }
    const lint = { name: 'lint', status: 'completed', ...words, ...times }
    const five = await claim()
    await world.publish(five, 'lint', 'github-check', { ...lint, conclusion: 'success' })
    await world.time.pass(5 * second)
    const { faults } = world.github
    faults.add({ on: { route: /^POST .*\/check-runs/, times: 1 }, fault: faults.serverError(502) })
    const six = await claim({ pr: 6 })
    await world.publish(six, 'lint', 'github-check', { ...lint, conclusion: 'failure' })
    await world.time.pass(20 * minute)
    expect(conclusions()).toEqual(['success', 'failure'])
  })
})

describe('a run that ends without a result leaves the check of another on its commit shown', () => {
  test('if that one has passed', async () => {
    await start()
    await complete(await claim(), 'succeeded')
    await cancel(await claim({ pr: 6, base: otherBase }))
    expect(shown()).toEqual({ status: 'success', check: 'success' })
    expect(conclusions()).toEqual(['success', 'cancelled', 'success'])
    expect(checks().at(-1)?.output.summary).toBe('it succeeded')
  })

  test('if that one is still active, once it has its result', async () => {
    await start()
    const five = await claim()
    await cancel(await claim({ pr: 6, base: otherBase }), minute)
    expect(shown().status).toBe('pending')
    await complete(five, 'failed')
    expect(shown()).toEqual({ status: 'failure', check: 'failure' })
    expect(conclusions()).toEqual(['failure', 'cancelled', 'failure'])
  })

  test('once, although the answer is lost', async () => {
    await start()
    await complete(await claim(), 'succeeded')
    const six = await claim({ pr: 6, base: otherBase })
    const { faults } = world.github
    faults.add({ on: { route: /^POST .*\/check-runs/, times: 1 }, fault: faults.lostAnswer() })
    await cancel(six)
    expect(conclusions()).toEqual(['success', 'cancelled', 'success'])
  })

  test('after its own, if that was still to be looked for when it ended', async () => {
    await start()
    await complete(await claim(), 'succeeded')
    const { faults } = world.github
    faults.add({ on: { route: /^POST .*\/check-runs/, times: 2 }, fault: faults.serverError(502) })
    await cancel(await claim({ pr: 6, base: otherBase }))
    expect(shown()).toEqual({ status: 'success', check: 'success' })
  })

  test('and creates none if nothing of it was ever shown', async () => {
    await start()
    await complete(await claim(), 'succeeded')
    await world.stopPublishers()
    await cancel(await claim({ pr: 6, base: otherBase }))
    world.startPublisher()
    await world.time.pass(hour)
    expect(conclusions()).toEqual(['success'])
  })

  test('each time another run ends so', async () => {
    await start()
    await complete(await claim(), 'succeeded')
    await cancel(await claim({ pr: 6, base: otherBase }))
    await cancel(await claim({ pr: 7, base: otherBase }))
    expect(conclusions()).toEqual(['success', 'cancelled', 'success', 'cancelled', 'success'])
  })

  test('but does not replace a newer one that has a result', async () => {
    await start()
    const five = await claim()
    const six = await claim({ pr: 6, base: otherBase })
    await complete(six, 'failed')
    await complete(five, 'succeeded')
    await world.time.pass(hour)
    expect(shown()).toEqual({ status: 'failure', check: 'failure' })
  })
})

describe('a pull request that has its former base again', () => {
  test.each(['at work', 'failed'] as const)('while the other run was %s', async (other) => {
    await start()
    await complete(await claim({ at: 10 }), 'succeeded')
    const onOther = await claim({ base: otherBase, at: 20 })
    if (other === 'failed') await complete(onOther, 'failed')
    expect((await claim({ at: 30 })).reason).toBe('restored')
    await world.time.pass(hour)
    expect(shown()).toEqual({ status: 'success', check: 'success' })
    expect(checks()).toHaveLength(3)
  })
})

test('a check run that arrives late does not hide the result of a newer claim', async () => {
  await start()
  const { faults } = world.github
  faults.add({ on: { route: /^POST .*\/check-runs/, times: 1 }, fault: faults.serverError(502) })
  const five = await claim()
  const six = await claim({ pr: 6, base: otherBase })
  await complete(six, 'failed')
  await world.time.pass(hour)
  await complete(five, 'succeeded')
  await world.time.pass(hour)
  expect(shown()).toEqual({ status: 'failure', check: 'failure' })
})

test('a late check run of an earlier round does not hide how the last one ended', async () => {
  await start()
  const { faults } = world.github
  faults.add({ on: { route: /^POST .*\/check-runs/, times: 1 }, fault: faults.serverError(502) })
  const first = await world.claim()
  await world.time.pass(second)
  await world.complete(first)
  const again = await world.claim(1, { rerun: true })
  await world.time.pass(3 * second)
  await cancel(again)
  expect(shown()).toEqual({ status: 'error', check: 'cancelled' })
})
