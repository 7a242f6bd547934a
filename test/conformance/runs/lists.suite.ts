/** Goal: lists find what they are asked for, newest first, page by page, each item once. */
import { describe, expect, it } from 'vitest'
import type { Page, Paged } from '../../../src/store.ts'
import { completion, pullRequestClaim, unique } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { useWorld, type OpenStore } from '../world.ts'

async function everyPage<T>(
  limit: number,
  list: (page: Page) => Promise<Paged<T>>,
): Promise<T[][]> {
  const pages: T[][] = []
  let cursor: string | null = null
  do {
    const { items, nextCursor }: Paged<T> = await list({ limit, cursor })
    pages.push([...items])
    cursor = nextCursor
  } while (cursor !== null)
  return pages
}

export function lists(open: OpenStore): void {
  const world = useWorld(open)

  async function fiveHeads(): Promise<TestSubject> {
    const subject = new TestSubject(world())
    for (const [at, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      world().clock.move(1)
      await subject.claim(name, { eventAt: at })
    }
    return subject
  }

  describe('runs', () => {
    it('have their types by id, also among ids that nobody knows', async () => {
      const [review, lint] = [new TestSubject(world()), new TestSubject(world())]
      const claims = [await review.claim('a'), await lint.claim('a')]
      const ids = claims.map(({ run }) => run?.id ?? '')
      expect([...(await world().store.runs.types([...ids, ...ids, 'run_none']))]).toEqual(
        expect.arrayContaining([
          [ids[0], review.type],
          [ids[1], lint.type],
        ]),
      )
      expect(await world().store.runs.types([])).toEqual(new Map())
    })

    it('come newest first, and a page ends where the next begins', async () => {
      const { repo } = await fiveHeads()
      const pages = await everyPage(2, (page) => world().store.runs.list({ repo }, page))
      expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
      const ids = pages.flat().map(({ id }) => id)
      expect(ids).toEqual(ids.toSorted().toReversed())
      expect(new Set(ids).size).toBe(5)
    })

    it('a page that ends exactly with the list has no next one', async () => {
      const { repo } = await fiveHeads()
      const pages = await everyPage(5, (page) => world().store.runs.list({ repo }, page))
      expect(pages.map((page) => page.length)).toEqual([5])
    })

    it('a run that comes while somebody pages disturbs nothing', async () => {
      const subject = await fiveHeads()
      const filter = { repo: subject.repo }
      const first = await world().store.runs.list(filter, { limit: 3, cursor: null })
      world().clock.move(1)
      await subject.claim('f', { eventAt: 9 })
      const next = await world().store.runs.list(filter, { limit: 3, cursor: first.nextCursor })
      const heads = [...first.items, ...next.items].map(({ key }) => key)
      expect(heads).toEqual(['e', 'd', 'c', 'b', 'a'].map((name) => subject.claimOf(name).key))
    })

    it('are found by repository, pull request, state, type, key and head', async () => {
      const subject = await fiveHeads()
      const { repo, type } = subject
      const { key, headSha } = subject.claimOf('c')
      const count = async (filter: object) =>
        (await world().store.runs.list(filter, { limit: 100, cursor: null })).items.length
      expect(await count({ repo })).toBe(5)
      expect(await count({ repo, pr: 5 })).toBe(5)
      expect(await count({ repo, pr: 6 })).toBe(0)
      expect(await count({ type })).toBe(5)
      expect(await count({ type, state: 'running' })).toBe(1)
      expect(await count({ repo, state: 'superseded' })).toBe(4)
      expect(await count({ key })).toBe(1)
      expect(await count({ repo, headSha: headSha! })).toBe(1)
      expect(await count({ repo: 'acme/unknown' })).toBe(0)
    })

    it.each(['', 'nonsense', 'YWZ0ZXI6', 'YWZ0ZXI6JyBPUiAxPTE'])(
      'the cursor "%s" is refused',
      async (cursor) => {
        const list = world().store.runs.list({}, { limit: 1, cursor })
        await expect(list).rejects.toMatchObject({ code: 'invalid_cursor' })
      },
    )
  })

  it('runs that have not ended are counted by state', async () => {
    const before = await world().store.runs.countActive()
    const subjects = Array.from({ length: 3 }, () => new TestSubject(world()))
    const [pending, running, ended] = subjects
    await pending?.putInState('a', 'pending')
    await running?.putInState('a', 'running')
    await ended?.putInState('a', 'succeeded')
    const after = await world().store.runs.countActive()
    expect(after).toEqual({
      pending: before.pending + 1,
      running: before.running + 1,
      waiting: before.waiting,
    })
  })

  describe('audit rows', () => {
    it('come newest first, page by page', async () => {
      const subject = await fiveHeads()
      const { id: runId } = await subject.run('c')
      await subject.claim('c', { eventAt: 2 })
      const pages = await everyPage(1, (page) => world().store.audit.list({ runId }, page))
      const types = pages.flat().map(({ type }) => type)
      expect(types).toEqual(['run.claim_skipped', 'run.superseded', 'run.claimed'])
    })

    it('are found by type and time, the end left out', async () => {
      const from = world().store.now() + 1
      await fiveHeads()
      const list = (filter: object) =>
        world().store.audit.list(filter, { limit: 100, cursor: null })
      const claimed = await list({ type: 'run.claimed', since: from })
      expect(claimed.items).toHaveLength(5)
      const early = await list({ type: 'run.claimed', since: from, until: from + 2 })
      expect(early.items).toHaveLength(2)
    })

    it('a cursor of another kind is refused', async () => {
      const subject = await fiveHeads()
      const { repo } = subject
      const { nextCursor } = await world().store.runs.list({ repo }, { limit: 1, cursor: null })
      const list = world().store.audit.list({}, { limit: 1, cursor: nextCursor })
      await expect(list).rejects.toMatchObject({ code: 'invalid_cursor' })
    })
  })

  describe('a page', () => {
    const mib = 1024 * 1024

    it('ends at 4 MB, with a cursor that loses nothing', async () => {
      const repo = unique('acme/large')
      const heads = ['a', 'b', 'c', 'd', 'e', 'f']
      for (const [n, head] of heads.entries()) {
        const input = JSON.stringify('x'.repeat(head === 'c' ? 5 * mib : 1.5 * mib))
        const claim = pullRequestClaim({ repo, pr: n + 1, head }, { input })
        await world().store.runs.claim(claim, null)
        world().clock.move(1)
      }
      const pages = await everyPage(100, (page) => world().store.runs.list({ repo }, page))
      expect(pages.map((page) => page.length)).toEqual([2, 1, 1, 2])
      expect(pages.flat().map(({ pr }) => pr)).toEqual([6, 5, 4, 3, 2, 1])
      for (const page of pages.filter(([run]) => run?.pr !== 3)) {
        expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThanOrEqual(4 * mib)
      }
    })

    it('is measured in the bytes that are sent, not in those that are stored', async () => {
      const repo = unique('acme/escaped')
      for (let pr = 1; pr <= 3; pr += 1) {
        const claim = pullRequestClaim({ repo, pr, head: 'a' })
        const held = await world().store.runs.claim(claim, null)
        const summary = '\u0001'.repeat(0.3 * mib)
        await world().store.runs.complete({ ...completion(held, 'succeeded'), summary }, null)
      }
      const pages = await everyPage(100, (page) => world().store.runs.list({ repo }, page))
      expect(pages.map((page) => page.length)).toEqual([2, 1])
    })
  })

  describe('tokens', () => {
    const token = { scope: 'worker', name: 'ci', userId: 7, actor: 'admin' }

    it('are kept by their hash and listed without it', async () => {
      const secret = unique('secret')
      const { token: made } = await world().store.tokens.create({ ...token, secret }, null)
      const stored = await world().store.tokens.get(made.id)
      expect(stored).toMatchObject({ id: made.id, scope: 'worker', name: 'ci', userId: 7 })
      expect(stored?.secretHash).toMatch(/^[0-9a-f]{64}$/)
      const { items } = await world().store.tokens.list({ limit: 100, cursor: null })
      expect(items.find(({ id }) => id === made.id)).toEqual(made)
      expect(JSON.stringify(items)).not.toContain(stored?.secretHash)
      expect(JSON.stringify([items, stored])).not.toContain(secret)
    })

    it('are gone once deleted, and both ends are in the audit', async () => {
      const secret = unique('secret')
      const { token: made } = await world().store.tokens.create({ ...token, secret }, null)
      await world().store.tokens.revoke(made.id, 'admin')
      expect(await world().store.tokens.get(made.id)).toBeNull()
      const gone = world().store.tokens.revoke(made.id, 'admin')
      await expect(gone).rejects.toMatchObject({ code: 'token_not_found' })
      const { items } = await world().store.audit.list({}, { limit: 2, cursor: null })
      expect(items.map(({ type }) => type)).toEqual([
        'operator.token_deleted',
        'operator.token_created',
      ])
      expect(JSON.stringify(items)).not.toContain(secret)
    })

    it('are listed page by page', async () => {
      for (let count = 0; count < 3; count++) {
        await world().store.tokens.create({ ...token, secret: unique('secret') }, null)
      }
      const pages = await everyPage(1, (page) => world().store.tokens.list(page))
      expect(pages.every((page) => page.length === 1)).toBe(true)
      expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(pages.length)
    })
  })

  it('a store remembers in which mode it began', async () => {
    expect(await world().store.upkeep.recordMode('sandbox')).toBe('sandbox')
    expect(await world().store.upkeep.recordMode('live')).toBe('sandbox')
  })
}
