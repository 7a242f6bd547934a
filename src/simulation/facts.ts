/**
 * The rows that the rules check, read directly from the tables. The rules never use the product's
 * own code to read them, because a mistake in that code would confirm itself.
 */
import type { SharedMemory } from '../open-store.ts'
import { purgedTableName, stepVersionsName, type PurgedTable } from './kept-rows.ts'

type Text = string | null
type Count = number | null

export interface RunFact extends Purgeable {
  readonly id: string
  readonly type: string
  readonly subject_id: string
  readonly repo: Text
  readonly pr: Count
  readonly head_sha: Text
  readonly pair: string
  readonly state: string
  readonly round: number
  readonly attempt: number
  readonly fence: number
  readonly claim_fence: number
  readonly verdict: Text
  readonly summary: Text
  readonly error_code: Text
  readonly status_context: Text
  readonly check_name: Text
  readonly anchor_per: Text
}

/** A purged row is as it was when the purge removed it. */
export interface Purgeable {
  readonly purged: boolean
}

export interface DeliveryFact extends Purgeable {
  readonly id: string
  readonly kind: string
  readonly channel: string
  readonly target: string
  readonly name: string
  readonly run_id: string
  readonly subject_id: string
  readonly repository_id: string
  readonly thread: Count
  readonly sha: Text
  readonly marker_key: string
  readonly version_fence: number
  readonly version_seq: number
  readonly sent_fence: Count
  readonly sent_seq: Count
  readonly sent_at: Count
  readonly status: string
  readonly reason: Text
  readonly wait: Text
  readonly due_at: Count
  readonly provider_id: Text
  readonly announces: number
  readonly announced_fence: Count
  readonly content: string
}

export interface AttemptFact {
  readonly id: string
  readonly delivery_id: string
  readonly action: string
  readonly outcome: Text
  readonly late: number
  /** By the store's clock. */
  readonly started_at: number
}

export interface InboxFact {
  readonly id: string
  readonly webhook_id: string
  readonly event_key: Text
  readonly lane: Text
  readonly event_at: Count
  readonly state: string
  readonly decision: string
  readonly reason: Text
}

export interface SubjectFact {
  readonly id: string
  readonly type: string
  readonly name: string
  readonly scope: string
  readonly current_run_id: Text
  readonly head_sha: Text
}

export interface AuditFact {
  readonly id: number
  readonly type: string
  readonly actor: string
  readonly run_id: Text
  readonly inbox_id: Text
  readonly delivery_id: Text
  readonly data: Readonly<Record<string, unknown>>
}

export interface StepFact extends Purgeable {
  readonly run_id: string
  readonly round: number
  readonly name: string
  readonly state: string
  readonly policy: string
  readonly fence: number
  readonly result: Text
}

/** A step as it was after one write. */
export interface StepVersion {
  readonly run_id: string
  readonly round: number
  readonly name: string
  readonly state: string
  readonly fence: number
  readonly start_id: string
  readonly result: Text
  readonly error_code: Text
}

export interface Facts {
  readonly runs: readonly RunFact[]
  readonly deliveries: readonly DeliveryFact[]
  readonly attempts: readonly AttemptFact[]
  readonly inbox: readonly InboxFact[]
  readonly subjects: readonly SubjectFact[]
  readonly audit: readonly AuditFact[]
  readonly steps: readonly StepFact[]
  /** Every write of every step, in order. */
  readonly stepVersions: readonly StepVersion[]
  /** Our id of a repository, by every name it had. */
  readonly names: ReadonlyMap<string, string>
  /** Our id of a repository, by GitHub's id. */
  readonly repositories: ReadonlyMap<number, string>
}

export async function readFacts(memory: SharedMemory): Promise<Facts> {
  const readTable = async <T>(table: string): Promise<T[]> =>
    (await memory.select(`SELECT * FROM ${table} ORDER BY 1`)) as unknown as T[]
  const withPurged = async <T>(table: PurgedTable): Promise<T[]> => [
    ...(await readTable<T>(table)).map((row) => ({ ...row, purged: false })),
    ...(await readTable<T>(purgedTableName(table))).map((row) => ({ ...row, purged: true })),
  ]
  const audit = await readAudit(memory, 0)
  const names = await readTable<{ name: string; repository_id: string }>('repository_name')
  const repositories = await readTable<RepositoryRow>('repository')
  const deliveries = await withPurged<DeliveryFact>('delivery')
  return {
    runs: await withPurged('run'),
    deliveries: deliveries.map((row) => {
      return { ...row, repository_id: mergedRepositoryId(row.repository_id, repositories) }
    }),
    attempts: await withPurged('delivery_attempt'),
    inbox: await readTable('inbox'),
    subjects: await readTable('subject'),
    audit,
    steps: await withPurged('step'),
    stepVersions: await readStepVersions(memory),
    names: new Map(names.map(({ name, repository_id: id }) => [name, id])),
    repositories: new Map(
      repositories.flatMap(({ id, github_id: githubId }) => {
        return githubId === null ? [] : [[githubId, id] as const]
      }),
    ),
  }
}

async function readStepVersions(memory: SharedMemory): Promise<StepVersion[]> {
  const rows = await memory.select(`SELECT * FROM ${stepVersionsName} ORDER BY rowid`)
  return rows as unknown as StepVersion[]
}

interface RepositoryRow {
  readonly id: string
  readonly github_id: number | null
  readonly merged_into: Text
}

/** A row may have been purged before its repository was merged into another one. */
function mergedRepositoryId(id: string, repositories: readonly RepositoryRow[]): string {
  const into = repositories.find((repository) => repository.id === id)?.merged_into ?? null
  return into === null ? id : mergedRepositoryId(into, repositories)
}

export async function readAudit(memory: SharedMemory, after: number): Promise<AuditFact[]> {
  const rows = await memory.select('SELECT * FROM audit WHERE id > ? ORDER BY id', [after])
  return rows.map((row) => ({
    ...(row as unknown as AuditFact),
    data: JSON.parse(row['data'] as string) as AuditFact['data'],
  }))
}
