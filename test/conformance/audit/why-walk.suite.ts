/**
 * Goal: after any sequence of verbs, `why` names the state of the run, and offers exactly the
 * commands that would be accepted.
 * Method: the random walk of all verbs; the test asks about every run after every few steps. At the
 * end it runs each offered command, and each command that was not offered must be refused.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { explain, type Why } from '../../../src/audit/why.ts'
import type { Run, RunState } from '../../../src/domain/run.ts'
import { seed } from '../../seed.ts'
import { step } from '../runs/any-order.suite.ts'
import { Walk } from '../runs/walk.ts'
import { useWorld, type OpenStore, type World } from '../world.ts'

const walks = 20

/** Words that only the headline of a run in this state has. */
const says: Readonly<Record<RunState, RegExp>> = {
  pending: / is waiting (for a worker|in line)/,
  running: / is being worked on by /,
  waiting: / is waiting for a person's answer/,
  succeeded: / finished at /,
  failed: / failed at /,
  cancelled: / was cancelled at /,
  skipped: / was skipped at /,
  superseded: / was superseded by /,
}

async function runsOf(walk: Walk): Promise<readonly Run[]> {
  const page = { limit: 100, cursor: null }
  const lists = await Promise.all(
    walk.subjects.map(({ type }) => walk.world.store.runs.list({ type }, page)),
  )
  return lists.flatMap(({ items }) => items)
}

function checkHeadline(why: Why, runs: readonly Run[]): void {
  const matching = Object.entries(says).filter(([, words]) => words.test(why.headline))
  const states = new Set<string>(runs.map(({ state }) => state))
  expect(new Set(matching.map(([name]) => name)), why.headline).toEqual(states)
  expect(why.text).not.toMatch(/undefined|null|NaN|\[object/)
}

async function check(walk: Walk): Promise<void> {
  const { store } = walk.world
  for (const run of await runsOf(walk)) checkHeadline(await explain(store, run.id), [run])
  // For the pull request: the current run, and any other run that is worked on.
  const [pullRequest] = walk.subjects
  const [subject] = await store.runs.subjectsOf(pullRequest?.repo ?? '', 5)
  if (subject?.currentRunId == null) return
  const runs = [await store.runs.get(subject.currentRunId), await store.runs.ahead(subject.id)]
  const why = await explain(store, `${pullRequest?.repo}#5`)
  checkHeadline(
    why,
    runs.filter((run) => run !== null),
  )
}

/** Runs the commands that are offered, and tries those that are not. */
async function act({ store }: World, id: string): Promise<void> {
  const offers = async (verb: string): Promise<boolean> => {
    const { actions } = await explain(store, id)
    return actions.some(({ command }) => command === `holdfast runs ${verb} ${id}`)
  }
  const before = await store.runs.get(id)
  const offered = await offers('rerun')
  const reran = await store.runs.rerun(id, 'person', null).catch(() => null)
  const after = await store.runs.get(id)
  if (offered) expect(after?.rev, 'an offered rerun changes something').not.toBe(before?.rev)
  if (!offered && before?.state !== 'pending') {
    const isIdle = reran === null || after?.rev === before?.rev || before?.rerunWanted === true
    expect(isIdle, `a rerun of ${before?.state} was not offered`).toBe(true)
  }
  const mayCancel = await offers('cancel')
  const cancelled = await store.runs.cancel(id, 'person', null).catch(() => null)
  expect(cancelled !== null, 'cancel').toBe(mayCancel)
}

export function whyWalk(open: OpenStore): void {
  const world = useWorld(open)

  it('the headline has the state, and every offered command is accepted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (sequence) => {
        const walk = new Walk(world())
        for (const [i, each] of sequence.entries()) {
          await walk.take(each)
          if (i % 5 === 0) await check(walk)
        }
        await check(walk)
        for (const { id } of await runsOf(walk)) await act(world(), id)
        await check(walk)
      }),
      { numRuns: walks, seed },
    )
  }, 120_000)
}
