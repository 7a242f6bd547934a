// Goal: GitHub is asked once after the order of arrival decided, and nothing breaks if it cannot be
// asked.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import type { Run } from '../domain/run.ts'
import type { HeadSource, PullRequestHead } from '../head-source.ts'
import type { ConfirmedHead } from '../store.ts'
import { HeadCheck } from './head-check.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const run = { id: 'run_1', repo: 'acme/widgets', scope: 'repo_1', pr: 5, fence: 3 } as Run

function checkWith(look: HeadSource['headOf']) {
  const confirmed: ConfirmedHead[] = []
  const superseded: string[] = []
  const errors: unknown[] = []
  const forgotten: string[] = []
  const check = new HeadCheck({
    store: {
      catchUp: { forgetHeadCheck: async (id, fence) => void forgotten.push(`${id} ${fence}`) },
      repositories: {
        get: async (id) =>
          id === 'repo_1' ? { id: 'rep_1', name: 'acme/renamed', githubId: 7 } : null,
      },
      runs: {
        confirmHead: async (head) => {
          confirmed.push(head)
          return { result: 'moved', supersededRunIds: ['run_2'] }
        },
      },
    },
    source: { headOf: look },
    onMoved: (_run, ids) => void superseded.push(...ids),
    onError: (error) => errors.push(error),
  })
  return { check, confirmed, superseded, errors, forgotten }
}

const headOf = (headSha: string): PullRequestHead => ({
  ...{ headSha, baseSha: 'DEF', state: 'open', updatedAt: 7, pushedAt: null },
})

it('a check stores GitHub’s answer in lower case, and reports superseded runs', async () => {
  const { check, confirmed, superseded, forgotten } = checkWith(async () => headOf('ABC'))
  check.start(run, 9)
  await check.idle()
  expect(forgotten).toEqual([])
  expect(confirmed).toEqual([
    { runId: 'run_1', fence: 9, headSha: 'abc', baseSha: 'def', at: 7, actor: 'head-check' },
  ])
  expect(superseded).toEqual(['run_2'])
})

it('a check asks by the repository’s GitHub id, or by name if that is unknown', async () => {
  const asked: unknown[] = []
  const { check } = checkWith(async (place) => {
    asked.push(place)
    return null
  })
  await check.ask(run, 9)
  await check.ask({ ...run, scope: 'repo_2' }, 9)
  expect(asked).toEqual([
    { repo: 'acme/renamed', repoGithubId: 7 },
    { repo: 'acme/widgets', repoGithubId: null },
  ])
})

it('a check that fails is reported, and the order of arrival is kept', async () => {
  const { check, confirmed, errors, forgotten } = checkWith(async () =>
    Promise.reject(new Error('no route')),
  )
  check.start(run, 9)
  await check.idle()
  expect([confirmed, forgotten]).toEqual([[], []])
  expect(errors).toHaveLength(1)
})

it('a pull request that does not exist confirms nothing, and is asked about once', async () => {
  const { check, confirmed, errors, forgotten } = checkWith(async () => null)
  check.start(run, 9)
  await check.idle()
  expect([confirmed, errors, forgotten]).toEqual([[], [], ['run_1 9']])
})

it('GitHub is not asked about a run without a pull request', async () => {
  let asked = 0
  const { check } = checkWith(async () => {
    asked += 1
    return null
  })
  check.start({ ...run, pr: null }, 9)
  check.start({ ...run, repo: null }, 9)
  await check.idle()
  expect(asked).toBe(0)
})

it('the checks are idle only when every check that began has ended', async () => {
  const look = Promise.withResolvers<null>()
  const { check } = checkWith(() => look.promise)
  check.start(run, 9)
  let done = false
  const confirmed = check.idle().then(() => (done = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(done).toBe(false)
  look.resolve(null)
  await confirmed
})

it('at most twenty checks ask GitHub at a time, and the others are left for catch-up', async () => {
  const asked: (() => void)[] = []
  const { check, confirmed, forgotten } = checkWith(
    () => new Promise((resolve) => void asked.push(() => resolve(headOf('a')))),
  )
  for (let n = 1; n <= 25; n += 1) check.start({ ...run, id: `run_${n}` }, 9)
  await expect.poll(() => asked.length).toBe(20)
  for (const answer of asked.splice(0)) answer()
  await check.idle()
  expect([confirmed.length, forgotten, asked]).toEqual([20, [], []])
  check.start(run, 9)
  await expect.poll(() => asked.length).toBe(1)
  asked[0]?.()
  await check.idle()
})

it('a stop waits for no answer, leaves the check for later and asks nothing more', async () => {
  const look = Promise.withResolvers<PullRequestHead>()
  let asked = 0
  const { check, confirmed, errors, forgotten } = checkWith(() => {
    asked += 1
    return look.promise
  })
  check.start(run, 9)
  await expect.poll(() => asked).toBe(1)
  await check.stop()
  check.start(run, 9)
  await check.idle()
  look.resolve(headOf('a'))
  await new Promise(setImmediate)
  expect([asked, confirmed, errors, forgotten]).toEqual([1, [], [], []])
})

it('a check that has ended stays in no memory', async () => {
  const heads: WeakRef<PullRequestHead>[] = []
  const { check } = checkWith(async () => {
    const head = headOf('a')
    heads.push(new WeakRef(head))
    return head
  })
  await check.ask(run, 9)
  await expect
    .poll(() => {
      collectGarbage()
      return heads.map((head) => head.deref()?.headSha)
    })
    .toEqual([undefined])
})
