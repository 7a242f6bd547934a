/**
 * PostgreSQL: how much faster the batch verb is. Ours is the whole store with many callers at once.
 * The peer has the same callers and a pool of the same size, but one transaction per claim. It runs
 * the prepared statements that our verb runs for one claim, and decides nothing.
 */
import { githubDeclarations } from '../src/channels/github-channels.ts'
import { Pool } from 'pg'
import { openPostgres, sessionOptions } from '../src/stores/open-postgres.ts'
import { createDatabase } from '../test/postgres/create-database.ts'
import { Recorder, machine, type ClaimStatements } from './recording.ts'
import type { Result } from './result.ts'
import { compare, takeTurns } from './rounds.ts'
import { crowdRate, newHeads } from './workload.ts'

/** As many connections as the store's own pool has. */
const connections = 10

export interface BatchOptions {
  readonly clusterUrl: string
  readonly rounds: number
  readonly claims: number
}

export async function measureBatches(options: BatchOptions): Promise<Result[]> {
  const { clusterUrl, rounds, claims } = options
  const ours = await createDatabase(clusterUrl)
  const store = await openPostgres(ours.url, { ...machine, channels: githubDeclarations })
  const recorder = new Recorder()
  const peer = await openPeer(clusterUrl)
  const [ourRates = [], peerRates = []] = await takeTurns(
    [
      () => crowdRate(newHeads(claims), (claim) => store.runs.claim(claim, null)),
      async () => {
        const recorded = await recorder.record(newHeads(claims))
        return crowdRate(recorded, (claim) => replay(peer, claim))
      },
    ],
    rounds,
  )
  await Promise.all([store.close(), peer.end(), recorder.close()])
  const compared = compare(ourRates, peerRates)
  return [{ what: 'PostgreSQL, new heads', against: 'a transaction each', bound: 4, ...compared }]
}

/** A pool on a separate database with our schema. */
async function openPeer(clusterUrl: string): Promise<Pool> {
  const { url } = await createDatabase(clusterUrl)
  const store = await openPostgres(url, { ...machine, channels: githubDeclarations })
  await store.close()
  return new Pool({ connectionString: url, max: connections, options: sessionOptions })
}

async function replay(pool: Pool, claim: ClaimStatements): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    for (const { text, params } of claim) {
      await client.query({ ...preparedStatement(text), values: [...params] })
    }
    await client.query('COMMIT')
  } finally {
    client.release()
  }
}

const preparedTexts = new Map<string, { readonly name: string; readonly text: string }>()

function preparedStatement(text: string): { readonly name: string; readonly text: string } {
  let found = preparedTexts.get(text)
  if (found === undefined) {
    let count = 0
    const numbered = text.replaceAll('?', () => `$${++count}`)
    found = { name: `claim_${preparedTexts.size}`, text: numbered }
    preparedTexts.set(text, found)
  }
  return found
}
