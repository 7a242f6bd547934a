// Goal: a pass checks a limited number of heads and reports only what it knows.
import { expect, it } from 'vitest'
import type { TakenHeadCheck } from '../../store/catch-up-store.ts'
import type { Run } from '../../domain/run.ts'
import { CatchUpNotes } from './catch-up-report.ts'
import { GitHubNotAsked } from '../asking/github-questions.ts'
import { PendingHeadChecks } from './pending-head-checks.ts'

const runOf = (n: number) => ({ id: `run_${n}`, repo: 'acme/w', pr: n }) as Run
const pendingCheck = (n: number): TakenHeadCheck => ({ run: runOf(n), fence: n, givenUp: false })
const gone: TakenHeadCheck = { run: null, fence: 0, givenUp: false }

async function pass(due: TakenHeadCheck[], look: () => Promise<void> = async () => undefined) {
  const asked: string[] = []
  const notes = new CatchUpNotes(() => false)
  await new PendingHeadChecks({
    store: { catchUp: { takeHeadCheck: async () => due.shift() ?? null } },
    runs: {
      checkHead: async ({ id }, fence) => {
        asked.push(`${id} ${fence}`)
        await look()
      },
    },
  }).pass(notes)
  return { asked, skipped: notes.report().skipped, left: due.length }
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

it('a pass asks about fifty heads, and leaves the others to the next pass', async () => {
  const { asked, skipped, left } = await pass(numbers(70).map(pendingCheck))
  expect([asked.length, asked[0], left]).toEqual([50, 'run_1 1', 20])
  expect(skipped).toEqual([
    { what: 'more heads', reason: '50 were asked about; the next pass goes on' },
  ])
})

it('a pass does not count heads that need no check any more', async () => {
  const { asked, skipped, left } = await pass([...numbers(80).map(() => gone), pendingCheck(7)])
  expect([asked, skipped, left]).toEqual([['run_7 7'], [], 0])
})

it('a pass reports heads it could not ask GitHub about, and heads it gave up', async () => {
  const givenUp = { ...pendingCheck(2), givenUp: true }
  const failed = () => Promise.reject(new GitHubNotAsked(new Error('no route')))
  const { skipped } = await pass([pendingCheck(1), givenUp], failed)
  expect(skipped).toEqual([
    { what: 'the head of acme/w#1', reason: 'no route' },
    {
      what: 'the head of acme/w#2',
      reason: 'GitHub did not answer for a day; the order of arrival is kept',
    },
  ])
})
