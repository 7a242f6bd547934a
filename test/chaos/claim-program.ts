/**
 * A program: opens the store, waits for the start signal, makes all its claims at once and reports
 * each answer. Where only the order of arrival decided between two heads, it asks "GitHub", as the
 * product does.
 */
import { HoldfastError } from '../../src/errors.ts'
import { settings, report, untilLetGo } from './child.ts'
import { claimOf, sha, type ClaimParts } from './claims.ts'
import { openStore, type Database } from './open-store.ts'

export interface ClaimConfig {
  readonly database: Database
  readonly claims: readonly Pick<ClaimParts, 'pr' | 'head' | 'before' | 'eventAt'>[]
  /** The head that GitHub names, and when it says the pull request was last changed. */
  readonly confirmed: { readonly head: string; readonly at: number } | null
}

export interface ClaimResult {
  readonly head: string
  readonly process: boolean
  readonly reason: string
}

const { database, claims, confirmed } = settings() as ClaimConfig
const store = await openStore(database)
const actor = `p${process.pid}`
await untilLetGo()

async function claimOne(parts: ClaimConfig['claims'][number], i: number): Promise<ClaimResult> {
  const secret = `${actor}-${i}`
  const claim = claimOf({ ...parts, secret, leaseMs: 60_000, actor, now: store.now() })
  try {
    const { process, reason, unclear, run } = await store.runs.claim(claim, null)
    if (unclear && confirmed !== null && run !== null) {
      const { id: runId, fence } = run
      const seen = { headSha: sha(confirmed.head), baseSha: sha('base'), at: confirmed.at }
      await store.runs.confirmHead({ runId, fence, ...seen, actor })
    }
    return { head: parts.head, process, reason }
  } catch (error) {
    const code = error instanceof HoldfastError ? error.code : String(error)
    return { head: parts.head, process: false, reason: `error: ${code}` }
  }
}

report(await Promise.all(claims.map(claimOne)))
await store.close()
