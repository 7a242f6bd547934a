/**
 * Goal: many processes claim at the same time; exactly one claim gets the work, and it is the claim
 * of the newest head.
 * Method: four processes make all their claims at the same moment, on PostgreSQL and on a SQLite
 * file; then the test reads the tables.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Run } from '../../src/domain/run.ts'
import { isActive } from '../../src/domain/run.ts'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { seed, seeded } from '../seed.ts'
import { startTogether } from './child.ts'
import type { ClaimConfig, ClaimResult } from './claim-program.ts'
import { claimOf, sha } from './claims.ts'
import { openStore, type Database } from './open-store.ts'

// Many processes take long to start on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const processes = 4
const pullRequests = [1, 2, 3, 4, 5]
const heads = Array.from({ length: 20 }, (_, i) => `h${i}`)
const newest = 'h19'
const startedAt = Date.now() - 600_000

type Claims = ClaimConfig['claims'][number][]

describe.each(['postgres', 'sqlite'] as const)('on %s', (kind) => {
  let folder: string
  let database: Database
  let postgres: TestDatabase | undefined

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-claims-'))
    if (kind === 'postgres') postgres = await freshDatabase()
    database =
      postgres === undefined
        ? { kind: 'sqlite', path: join(folder, 'holdfast.db') }
        : { kind: 'postgres', url: postgres.url }
  })
  afterEach(async () => {
    await postgres?.drop()
    rmSync(folder, { recursive: true })
  })

  async function claimTogether(
    claims: Claims,
    confirmed: ClaimConfig['confirmed'],
  ): Promise<ClaimResult[]> {
    const shares = Array.from({ length: processes }, (_, p) =>
      claims.filter((_claim, i) => i % processes === p),
    )
    const configs: ClaimConfig[] = shares.map((share) => ({ database, claims: share, confirmed }))
    const children = await startTogether('claim-program.ts', configs)
    const results = (await Promise.all(children.map((child) => child.report))) as ClaimResult[][]
    await Promise.all(children.map((child) => child.kill()))
    return results.flat()
  }

  async function runsOf(pr: number): Promise<readonly Run[]> {
    const store = await openStore(database)
    const { items } = await store.runs.list(
      { repo: 'octo/hello', pr },
      { limit: 100, cursor: null },
    )
    await store.close()
    return items
  }

  /** Expects one active run, that of the newest head. All others are superseded or skipped. */
  async function expectOnlyNewest(pr: number): Promise<void> {
    const runs = await runsOf(pr)
    expect(runs).toHaveLength(heads.length)
    expect(runs.filter(isActive).map(({ headSha }) => headSha)).toEqual([sha(newest)])
    const others = runs.filter((run) => !isActive(run))
    expect(others.filter(({ state }) => state !== 'superseded' && state !== 'skipped')).toEqual([])
    const skipped = others.filter(({ state }) => state === 'skipped')
    expect(skipped.filter(({ errorCode }) => errorCode !== 'stale-event')).toEqual([])
  }

  it('50 claims of one pair: one gets the work, and none fails', async () => {
    const claims = pullRequests.flatMap((pr) =>
      Array.from({ length: 50 }, () => ({ pr, head: `only-${pr}` })),
    )
    const results = await claimTogether(claims, null)
    for (const pr of pullRequests) {
      const mine = results.filter(({ head }) => head === `only-${pr}`)
      expect(mine.filter(({ process }) => process).map(({ reason }) => reason)).toEqual(['new'])
      const others = mine.filter(({ process }) => !process)
      expect(others.filter(({ reason }) => reason !== 'duplicate')).toEqual([])
    }
  })

  it('20 heads whose events arrive in random order: the newest gets the work', async () => {
    const claims = shuffled(
      pullRequests.flatMap((pr) =>
        heads.map((head, i) => ({ pr, head, eventAt: startedAt + i * 1000 })),
      ),
    )
    const results = await claimTogether(claims, null)
    expect(results.filter(({ reason }) => reason.startsWith('error'))).toEqual([])
    for (const pr of pullRequests) await expectOnlyNewest(pr)
  })

  it('20 heads of one second in random order: the one GitHub names gets the work', async () => {
    const claims = shuffled(
      pullRequests.flatMap((pr) =>
        heads.map((head, i) => ({ pr, head, eventAt: startedAt, before: `h${i - 1}` })),
      ),
    )
    const results = await claimTogether(claims, { head: newest, at: startedAt })
    expect(results.filter(({ reason }) => reason.startsWith('error'))).toEqual([])
    for (const pr of pullRequests) await expectOnlyNewest(pr)
  })

  it('20 heads of one second that arrive in order: each replaces the one it names', async () => {
    const nodes = [await openStore(database), await openStore(database)] as const
    const reasons: string[] = []
    for (const [i, head] of heads.entries()) {
      const node = nodes[i % 2 === 0 ? 0 : 1]
      const parts = { pr: 1, head, eventAt: startedAt, before: `h${i - 1}`, secret: head }
      const claim = claimOf({ ...parts, leaseMs: 60_000, actor: 'test', now: node.now() })
      const { reason, unclear } = await node.runs.claim(claim, null)
      reasons.push(unclear ? `${reason}, unclear` : reason)
    }
    await Promise.all(nodes.map((node) => node.close()))
    // Each head may have come back, so GitHub is asked. Until it answers, the last arrival counts.
    const followed = 'superseded-prior, unclear'
    expect(reasons).toEqual(heads.map((_, i) => (i === 0 ? 'new' : followed)))
    await expectOnlyNewest(1)
  })

  it('20 heads without a time: one gets the work, and it is the one GitHub names', async () => {
    const claims = shuffled(pullRequests.flatMap((pr) => heads.map((head) => ({ pr, head }))))
    const results = await claimTogether(claims, { head: newest, at: startedAt })
    expect(results.filter(({ reason }) => reason.startsWith('error'))).toEqual([])
    for (const pr of pullRequests) await expectOnlyNewest(pr)
  })

  it('20 heads without a time and without GitHub: exactly one gets the work', async () => {
    const claims = shuffled(pullRequests.flatMap((pr) => heads.map((head) => ({ pr, head }))))
    await claimTogether(claims, null)
    for (const pr of pullRequests) {
      const runs = await runsOf(pr)
      expect(runs.filter(isActive)).toHaveLength(1)
      expect(runs.filter(({ state }) => state === 'superseded')).toHaveLength(19)
    }
  })
})

const below = seeded(seed)

function shuffled(claims: Claims): Claims {
  return claims
    .map((claim) => ({ claim, at: below(1_000_000) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ claim }) => claim)
}
