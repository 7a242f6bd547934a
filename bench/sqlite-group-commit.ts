/**
 * SQLite: how much faster group commit is, and how near it comes to the fastest possible.
 *
 * Ours is the whole store with many callers at once. One peer runs the same statements with one
 * transaction per claim, as a program without group commit does. The other runs all of them in one
 * transaction, with prepared statements and no decisions. SQLite cannot be faster than that.
 */
import { githubDeclarations } from '../src/channels/github-channels.ts'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Claim } from '../src/domain/claim.ts'
import { openSqlite, openSqliteDriver } from '../src/stores/open-sqlite.ts'
import { PlainSqlite } from './plain-sqlite.ts'
import { Recorder, machine, type ClaimStatements } from './recording.ts'
import type { Result } from './result.ts'
import { compare, takeTurns } from './rounds.ts'
import { crowdRate, newHeads, rateOf, redeliver } from './workload.ts'

export interface GroupCommitOptions {
  readonly folder: string
  readonly rounds: number
  readonly claims: number
}

interface ClaimCase {
  readonly what: string
  /** Already in the store at the start. */
  readonly before: readonly ClaimStatements[]
  readonly claims: readonly Claim[]
  readonly recorded: readonly ClaimStatements[]
}

export async function measureGroupCommit(options: GroupCommitOptions): Promise<Result[]> {
  const heads = newHeads(options.claims)
  const again = redeliver(heads)
  const recorder = new Recorder()
  const first = await recorder.record(heads)
  const second = await recorder.record(again)
  await recorder.close()
  return [
    ...(await run({ what: 'new heads', before: [], claims: heads, recorded: first }, options)),
    ...(await run({ what: 'duplicates', before: first, claims: again, recorded: second }, options)),
  ]
}

async function run(
  claimCase: ClaimCase,
  { folder, rounds }: GroupCommitOptions,
): Promise<Result[]> {
  const path = join(folder, 'group-commit.sqlite')
  const onFreshFile = (measure: () => Promise<number>) => async (): Promise<number> => {
    await makeFile(path, claimCase.before)
    try {
      return await measure()
    } finally {
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    }
  }
  const [ours = [], eachAlone = [], together = []] = await takeTurns(
    [ourRate, eachAloneRate, togetherRate].map((rate) => onFreshFile(() => rate(path, claimCase))),
    rounds,
  )
  const what = `SQLite, ${claimCase.what}`
  return [
    { what, against: 'a transaction each', bound: 4, ...compare(ours, eachAlone) },
    { what, against: 'statements only', bound: 0.3, ...compare(ours, together) },
  ]
}

async function makeFile(path: string, before: readonly ClaimStatements[]): Promise<void> {
  await openSqliteDriver({ path, exclusive: false }, machine).close()
  const db = new PlainSqlite(path)
  db.transaction(() => before.forEach((claim) => db.replay(claim)))
  db.close()
}

async function ourRate(path: string, { claims }: ClaimCase): Promise<number> {
  const store = openSqlite({ path, exclusive: false }, { ...machine, channels: githubDeclarations })
  const rate = await crowdRate(claims, (claim) => store.runs.claim(claim, null))
  await store.close()
  return rate
}

async function eachAloneRate(path: string, { recorded }: ClaimCase): Promise<number> {
  const db = new PlainSqlite(path)
  const rate = await rateOf(recorded.length, () => {
    for (const claim of recorded) db.transaction(() => db.replay(claim))
  })
  db.close()
  return rate
}

async function togetherRate(path: string, { recorded }: ClaimCase): Promise<number> {
  const db = new PlainSqlite(path)
  const rate = await rateOf(recorded.length, () => {
    db.transaction(() => recorded.forEach((claim) => db.replay(claim)))
  })
  db.close()
  return rate
}
