/**
 * SQLite: what group commit wins, and what is left on the table.
 *
 * Ours is the whole store with a crowd of callers. One peer does the same statements by hand, a
 * transaction per claim, which is what a program without group commit does. The other does them
 * all in one transaction with prepared statements and no decisions: the most SQLite can give.
 */
import { githubDeclarations } from '../src/channels/github-channels.ts'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Claim } from '../src/domain/claim.ts'
import { openSqlite, openSqliteDriver } from '../src/stores/open-sqlite.ts'
import { ByHand } from './by-hand.ts'
import { Recorder, machine, type Recorded } from './recording.ts'
import type { Result } from './result.ts'
import { compare, takeTurns } from './rounds.ts'
import { crowdRate, newHeads, rateOf, redelivered } from './workload.ts'

export interface GroupCommitOptions {
  readonly folder: string
  readonly rounds: number
  readonly claims: number
}

interface Race {
  readonly what: string
  /** Already in the store when the race starts. */
  readonly before: readonly Recorded[]
  readonly claims: readonly Claim[]
  readonly recorded: readonly Recorded[]
}

export async function measureGroupCommit(options: GroupCommitOptions): Promise<Result[]> {
  const heads = newHeads(options.claims)
  const again = redelivered(heads)
  const recorder = new Recorder()
  const first = await recorder.record(heads)
  const second = await recorder.record(again)
  await recorder.close()
  return [
    ...(await run({ what: 'new heads', before: [], claims: heads, recorded: first }, options)),
    ...(await run({ what: 'duplicates', before: first, claims: again, recorded: second }, options)),
  ]
}

async function run(race: Race, { folder, rounds }: GroupCommitOptions): Promise<Result[]> {
  const path = join(folder, 'group-commit.sqlite')
  const onFreshFile = (measure: () => Promise<number>) => async (): Promise<number> => {
    await makeFile(path, race.before)
    try {
      return await measure()
    } finally {
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    }
  }
  const [ours = [], eachAlone = [], together = []] = await takeTurns(
    [ourRate, eachAloneRate, togetherRate].map((rate) => onFreshFile(() => rate(path, race))),
    rounds,
  )
  const what = `SQLite, ${race.what}`
  return [
    { what, against: 'a transaction each', bound: 4, ...compare(ours, eachAlone) },
    { what, against: 'statements only', bound: 0.3, ...compare(ours, together) },
  ]
}

async function makeFile(path: string, before: readonly Recorded[]): Promise<void> {
  await openSqliteDriver({ path, exclusive: false }, machine).close()
  const db = new ByHand(path)
  db.transaction(() => before.forEach((claim) => db.replay(claim)))
  db.close()
}

async function ourRate(path: string, { claims }: Race): Promise<number> {
  const store = openSqlite({ path, exclusive: false }, { ...machine, channels: githubDeclarations })
  const rate = await crowdRate(claims, (claim) => store.runs.claim(claim, null))
  await store.close()
  return rate
}

async function eachAloneRate(path: string, { recorded }: Race): Promise<number> {
  const db = new ByHand(path)
  const rate = await rateOf(recorded.length, () => {
    for (const claim of recorded) db.transaction(() => db.replay(claim))
  })
  db.close()
  return rate
}

async function togetherRate(path: string, { recorded }: Race): Promise<number> {
  const db = new ByHand(path)
  const rate = await rateOf(recorded.length, () => {
    db.transaction(() => recorded.forEach((claim) => db.replay(claim)))
  })
  db.close()
  return rate
}
