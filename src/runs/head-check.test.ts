// Goal: one look at GitHub after arrival had to decide, and nothing breaks when it cannot be made.
import { expect, it } from 'vitest'
import type { Run } from '../domain/run.ts'
import type { HeadSource } from '../head-source.ts'
import type { SettledHead } from '../store.ts'
import { HeadCheck } from './head-check.ts'

const run = { id: 'run_1', repo: 'acme/widgets', scope: 'repo_1', pr: 5, fence: 3 } as Run

function checkWith(look: HeadSource['look']) {
  const settled: SettledHead[] = []
  const superseded: string[] = []
  const errors: unknown[] = []
  const check = new HeadCheck({
    store: {
      catchUp: { forgetHeadCheck: async () => undefined },
      repository: async (id) =>
        id === 'repo_1' ? { id: 'rep_1', name: 'acme/renamed', githubId: 7 } : null,
      settleHead: async (head) => {
        settled.push(head)
        return { result: 'moved', supersededRunIds: ['run_2'] }
      },
    },
    source: { look },
    onMoved: (_run, ids) => void superseded.push(...ids),
    onError: (error) => errors.push(error),
  })
  return { check, settled, superseded, errors }
}

it('settles what GitHub says, in our spelling, and tells who lost', async () => {
  const { check, settled, superseded } = checkWith(async () => ({
    headSha: 'ABC',
    baseSha: 'def',
    state: 'open',
    updatedAt: 7,
    pushedAt: null,
  }))
  check.start(run)
  await check.settled()
  expect(settled).toEqual([
    { runId: 'run_1', fence: 3, headSha: 'abc', at: 7, actor: 'head-check' },
  ])
  expect(superseded).toEqual(['run_2'])
})

it('asks by GitHub’s id of the repository, and by name while that is not known', async () => {
  const asked: unknown[] = []
  const { check } = checkWith(async (place) => {
    asked.push(place)
    return null
  })
  await check.look(run)
  await check.look({ ...run, scope: 'repo_2' })
  expect(asked).toEqual([
    { repo: 'acme/renamed', repoGithubId: 7 },
    { repo: 'acme/widgets', repoGithubId: null },
  ])
})

it('a look that fails is told, and arrival stands', async () => {
  const { check, settled, errors } = checkWith(async () => Promise.reject(new Error('no route')))
  check.start(run)
  await check.settled()
  expect(settled).toEqual([])
  expect(errors).toHaveLength(1)
})

it('a pull request that is not there settles nothing', async () => {
  const { check, settled, errors } = checkWith(async () => null)
  check.start(run)
  await check.settled()
  expect([settled, errors]).toEqual([[], []])
})

it('nobody is asked about a run without a pull request', async () => {
  let asked = 0
  const { check } = checkWith(async () => {
    asked += 1
    return null
  })
  check.start({ ...run, pr: null })
  check.start({ ...run, repo: null })
  await check.settled()
  expect(asked).toBe(0)
})

it('is settled only when every look that was begun has ended', async () => {
  const look = Promise.withResolvers<null>()
  const { check } = checkWith(() => look.promise)
  check.start(run)
  let done = false
  const settled = check.settled().then(() => (done = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(done).toBe(false)
  look.resolve(null)
  await settled
})
