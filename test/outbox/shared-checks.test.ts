/** Goal: pull requests that share a commit have a check run each. */
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
}

async function claim({ pr = 5, base = baseSha, createdAt }: Opened = {}): Promise<Claimed> {
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
  const request = { kind: 'pull_request', type: 'review', ...commits, threadCreatedAt } as const
  const claimed = await world.now(world.runs.claim(request, 'test'))
  await world.time.pass(5 * second)
  return claimed
}

async function complete(claimed: Claimed, outcome: 'succeeded' | 'failed'): Promise<void> {
  const summary = `it ${outcome}`
  await world.now(world.runs.complete({ ...holderOf(claimed), outcome, summary }, 'test'))
  await world.time.pass(5 * second)
}

async function cancel({ run }: Claimed, passMs = hour): Promise<void> {
  await world.now(world.runs.cancel(run?.id ?? '', 'test'))
  await world.time.pass(passMs)
}

const checks = () => world.github.checkRuns(repo, head(1)).toSorted((a, b) => a.id - b.id)
const conclusions = () => checks().map(({ conclusion }) => conclusion)

describe('two pull requests with the same base and head have a check run each', () => {
  test('where the second is older than the store, and so looks for its own first', async () => {
    await start({ youngThread: false })
    const five = await claim()
    const six = await claim({ pr: 6 })
    expect(checks()).toHaveLength(2)
    await complete(five, 'failed')
    await cancel(six)
    expect(conclusions().slice(0, 2)).toEqual(['failure', 'cancelled'])
  })

  test('where the answer to the create of the second is lost', async () => {
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

  test('also of a check that their runs publish themselves', async () => {
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
