// Goal: a pass reports what it has no room for (repositories, pages of a list, pull requests to ask
// for), and the next passes continue until all of it was checked.
import { describe, expect, it } from 'vitest'
import type { Run } from '../../domain/run.ts'
import type { ListedPull } from '../../github.ts'
import { GitHubError, trouble } from '../../github/errors.ts'
import { CatchUpNotes } from './catch-up-report.ts'
import { PullReconciler, type PullReconcilerOptions } from './pull-reconciler.ts'

const startedAt = Date.UTC(2026, 0, 1)

interface FakeCounts {
  readonly repositories?: number
  readonly quiet?: number
  readonly pulls?: number
  readonly active?: readonly number[]
  /** The answer to the question which identity we have in a repository. */
  readonly whoFails?: GitHubError | null
}

function reconcilerOver(counts: FakeCounts) {
  const { repositories = 1, quiet = 0, pulls = 0, active = [], whoFails = null } = counts
  const looked = new Map<number, number>()
  const asked: number[] = []
  const pages: string[] = []
  let beats = 0
  let whos = 0
  const blocks = new Map<string, number>()
  const all = Array.from({ length: repositories }, (_, i) => ({ name: `a/${i}`, githubId: i }))
  const listed = Array.from({ length: pulls }, (_, i): ListedPull => {
    const updatedAt = startedAt + (pulls - i) * 1000
    return { number: i + 1, state: 'closed', headSha: 'h', updatedAt, whole: {} }
  })
  const nobody: Run[] = []
  const options = {
    github: {
      ownIdentity: 'app',
      identityOf: async () => {
        whos += 1
        if (whoFails !== null) throw whoFails
        return 'app:1'
      },
      pulls: async ({ repo }: { repo: string }, page: number) => {
        pages.push(`${repo} ${page}`)
        const items = listed.slice((page - 1) * 100, page * 100)
        return { items, more: page * 100 < pulls }
      },
      pull: async (_place: unknown, number: number) => {
        asked.push(number)
        return null
      },
    },
    store: {
      now: () => startedAt + 1000,
      upkeep: { firstStartedAt: async () => startedAt },
      runs: {
        subjectsOf: async () => [{ id: 'sub' }],
        ahead: async () => ({}),
        list: async ({ state }: { state?: string }) => ({
          items: state === 'running' ? active.map((pr) => ({ pr })) : nobody,
          nextCursor: null,
        }),
      },
      inbox: { list: async () => ({ items: [], nextCursor: null }) },
      outbox: {
        blockedUntil: async (identity: string) => blocks.get(identity) ?? null,
        blockIdentity: async (identity: string, until: number) => void blocks.set(identity, until),
      },
      catchUp: {
        lastEvent: async () => null,
        hasStateEvent: async () => null,
        repositoriesInUse: async (_since: number, limit: number) => {
          const sorted = all.toSorted(
            (a, b) => (looked.get(a.githubId) ?? 0) - (looked.get(b.githubId) ?? 0),
          )
          return { items: sorted.slice(0, limit), left: Math.max(0, all.length - limit) }
        },
        quietRepositories: async (_since: number, limit: number) => {
          const waiting = Array.from({ length: quiet }, (_, i) => 1000 + i).filter(
            (githubId) => !looked.has(githubId),
          )
          const items = waiting.map((githubId) => ({ name: `quiet/${githubId}`, githubId }))
          const next = items.slice(limit, limit + 3).map(({ name }) => name)
          const usedAt = startedAt
          return { items: items.slice(0, limit).map((item) => ({ ...item, usedAt })), next }
        },
        noteQuietLooked: async ({ githubId }: { githubId: number }) =>
          void looked.set(githubId, (beats += 1)),
        noteLooked: async (githubId: number) => void looked.set(githubId, (beats += 1)),
      },
    },
    clock: { wallMs: () => startedAt, monotonicMs: () => 0 },
  } as unknown as PullReconcilerOptions
  const reconciler = new PullReconciler(options)
  const pass = async (isOver: () => boolean = () => false) => {
    const notes = new CatchUpNotes(isOver)
    await reconciler.pass(notes)
    return { ...notes.report(), isWhole: notes.isComplete }
  }
  return { pass, pages, asked, looked, blocks, askedWho: () => whos }
}

it('a pass reports the repositories beyond 200, and the next pass begins with them', async () => {
  const { pass, looked } = reconcilerOver({ repositories: 450 })
  const reports = [await pass(), await pass(), await pass()]
  expect(reports.map(({ skipped }) => skipped)).toEqual(
    Array.from({ length: 3 }, () => [
      { what: '250 more repositories', reason: 'the next pass begins with them' },
    ]),
  )
  expect(looked.size).toBe(450)
})

it('each pass checks ten quiet repositories in turn, and reports the next ones', async () => {
  const { pass, looked, pages } = reconcilerOver({ repositories: 1, quiet: 25 })
  const [first, second, third] = [await pass(), await pass(), await pass()]
  expect(first.skipped).toEqual([
    {
      what: 'more quiet repositories',
      reason:
        'no event for 30 days; each pass checks 10 of them; ' +
        'the next are quiet/1010, quiet/1011, quiet/1012',
    },
  ])
  expect(first.lookedAt.repositories).toBe(11)
  expect([second.skipped.length, third.skipped.length]).toEqual([1, 0])
  expect(looked.size).toBe(26)
  expect(pages.filter((page) => page.startsWith('quiet/'))).toHaveLength(25)
})

it('a quiet repository that cannot be read is reported, and the pass is still whole', async () => {
  const about = { route: 'GET /', status: 404, requestId: 'r', githubRequestId: null }
  const whoFails = new GitHubError(trouble('not_installed'), about)
  const { pass, looked } = reconcilerOver({ repositories: 0, quiet: 1, whoFails })
  const report = await pass()
  expect(report).toMatchObject({ skipped: [{ what: 'quiet/1000' }], isWhole: true })
  expect(looked.size).toBe(1)
})

it('the next passes continue a list of more than ten pages', async () => {
  const { pass, pages, asked } = reconcilerOver({ pulls: 2450 })
  expect((await pass()).skipped).toEqual([
    { what: 'a/0', reason: 'more than 1000 changed; the next pass goes on' },
  ])
  expect((await pass()).skipped).toHaveLength(1)
  expect((await pass()).skipped).toEqual([])
  expect(new Set(pages)).toEqual(new Set(Array.from({ length: 25 }, (_, i) => `a/0 ${i + 1}`)))
  expect(new Set(asked).size).toBe(2450)
})

it('each pass asks for fifty pull requests that are in no list, until none is left', async () => {
  const active = Array.from({ length: 120 }, (_, i) => 1000 - i)
  const { pass, asked } = reconcilerOver({ active })
  const reports = [await pass(), await pass(), await pass()]
  expect(reports.map(({ skipped }) => skipped[0]?.what)).toEqual([
    '70 more pull requests of a/0',
    '20 more pull requests of a/0',
    undefined,
  ])
  expect(asked).toEqual(active.toReversed())
})

it('a limit on the question for our identity blocks the App: nothing else is asked', async () => {
  const about = { route: 'GET /x', status: 429, requestId: '1', githubRequestId: null }
  const whoFails = new GitHubError(trouble('rate_limited', { until: startedAt + 5000 }), about)
  const { pass, blocks, askedWho } = reconcilerOver({ repositories: 20, whoFails })
  const { skipped } = await pass()
  expect([askedWho(), [...blocks.keys()], skipped.length]).toEqual([1, ['app'], 20])
})

describe('a stop', () => {
  it('asks about no more of a list, and the next pass checks all of it', async () => {
    const { pass, asked, looked } = reconcilerOver({ pulls: 150 })
    await pass(() => asked.length >= 3)
    expect([asked.length, looked.size]).toEqual([3, 0])
    await pass()
    expect(new Set(asked).size).toBe(150)
  })

  it('reads no more pages', async () => {
    const { pass, pages, asked } = reconcilerOver({ pulls: 950 })
    await pass(() => pages.length >= 2)
    expect([pages.length, asked]).toEqual([2, []])
    await pass()
    expect(new Set(asked).size).toBe(950)
  })

  it('asks for no more pull requests that are in no list', async () => {
    const { pass, asked } = reconcilerOver({ active: [1, 2, 3, 4, 5] })
    await pass(() => asked.length >= 2)
    expect(asked).toEqual([1, 2])
    await pass()
    expect(new Set(asked)).toEqual(new Set([1, 2, 3, 4, 5]))
  })
})
