/**
 * Fills an empty store with history: a month of runs on pull requests of a few hundred
 * repositories, some far busier than others. Each pull request has ten heads, of which the last
 * succeeded. Every run has its webhook and two audit rows. It is plain SQL, because claiming a
 * million runs would take longer than measuring them. Rows are written in the order of time into
 * existing indexes. An index that is built afterwards has full pages, and every claim would split
 * one.
 */
import { firstStoredPr, repositories, repositoryName } from './workload.ts'

/** Where the two databases differ. */
export interface FillDialect {
  run(statement: string): Promise<void>
  /** A SELECT of the numbers from 0 as `i`. */
  numbers(count: number): string
  /** Forty hex digits that depend on `i`. */
  readonly sha: string
}

const monthMs = 30 * 24 * 60 * 60 * 1000
const headsPerPullRequest = 10

export async function fillStore(dialect: FillDialect, count: number, now: number): Promise<void> {
  for (const statement of history(dialect, count, now)) await dialect.run(statement)
}

const padded = (number: string): string => `substr(CAST(100000000 + ${number} AS TEXT), 2)`

/** Ids like ours, older than every real one. */
const id = (prefix: string, number: string, tail: string): string =>
  `'${prefix}_00' || ${padded(number)} || ${tail}`

/** The same distribution as in workload.ts. */
const repositoryOfPr = `pr % ${repositories} * (pr / ${repositories} % ${repositories})
  / ${repositories}`
const runId = id('run', 'i', 'substr(head_sha, 1, 16)')
const subjectId = id('sub', 'pr', `'0000000000000000'`)
const repositoryId = id('rep', 'repository', `'0000000000000000'`)
const pair = `'base-' || base_sha || ':head-' || head_sha`
const isLast = `head = ${headsPerPullRequest - 1}`

function history(dialect: FillDialect, count: number, now: number): string[] {
  const name = `'${repositoryName('')}' || repository`
  const created = `${now - monthMs} + i * ${Math.floor(monthMs / count)}`
  const allRepositories = `SELECT i AS repository FROM (${dialect.numbers(repositories)}) AS n`
  return [
    `CREATE TABLE history AS SELECT i, pr, head,
       ${repositoryOfPr} AS repository,
       ${dialect.sha} AS head_sha, ${padded('pr')} || '${'b'.repeat(32)}' AS base_sha,
       ${created} AS at
     FROM (SELECT i, ${firstStoredPr} + i / 1000 * 100 + i % 100 AS pr, i % 1000 / 100 AS head
       FROM (${dialect.numbers(count)}) AS n) AS heads`,
    `INSERT INTO repository (id, name, created_at)
     SELECT ${repositoryId}, ${name}, ${now - monthMs} FROM (${allRepositories}) AS r`,
    `INSERT INTO repository_name (name, repository_id)
     SELECT ${name}, ${repositoryId} FROM (${allRepositories}) AS r`,
    `INSERT INTO subject (id, type, scope, name, current_run_id, current_pair, head_sha, head_at,
       floor_at, finished_run_id, finished_head_sha, finished_verdict, created_at, touched_at)
     SELECT ${subjectId}, 'review', ${repositoryId}, 'pr-' || pr, ${runId}, ${pair}, head_sha, at,
       at, ${runId}, head_sha, 'success', at, at FROM history WHERE ${isLast}`,
    `INSERT INTO subject_event (subject_id, webhook_id, at)
     SELECT ${subjectId}, substr(head_sha, 1, 36), at FROM history`,
    `INSERT INTO run (id, rev, type, subject_id, subject, key, pair, repo, pr, base_sha, head_sha,
       state, on_newer, attempt, round, fence, order_at, last_event_at, rerun_wanted,
       past_lease_hashes, completed_lease_hash, lease_ms, attempts_max, timeout_ms,
       pending_timeout_ms, created_at, started_at, finished_at, outcome, verdict, summary,
       webhook_id, trigger_event, trigger_action, trigger_sender)
     SELECT ${runId}, 2, 'review', ${subjectId}, 'pr-' || pr,
       ${name} || ':pr-' || pr || ':' || ${pair}, ${pair}, ${name}, pr, base_sha, head_sha,
       CASE WHEN ${isLast} THEN 'succeeded' ELSE 'superseded' END, 'supersede', 1, 1, 2 * i + 1,
       at, at, 0, '', head_sha, 60000, 3, 3600000, 3600000, at, at, at + 30000,
       CASE WHEN ${isLast} THEN 'succeeded' END, CASE WHEN ${isLast} THEN 'success' END,
       'Nothing to complain about.', substr(head_sha, 1, 36), 'pull_request', 'synchronize',
       'octocat' FROM history`,
    ...['run.claimed', 'run.completed'].map(
      (type, later) => `INSERT INTO audit (id, at, type, actor, run_id, data)
       SELECT 2 * i + ${1 + later}, at, '${type}', 'token:bench', ${runId},
         '{"key":"' || ${name} || ':pr-' || pr || ':' || ${pair} || '","round":1,"attempt":1}'
       FROM history`,
    ),
    'DROP TABLE history',
  ]
}
