/**
 * Compares the answers that the child processes got with the tables. Two answers are compared only
 * if one process had its answer before the other process asked, because otherwise their order is
 * unknown. Returns the violations as sentences.
 */
import { sha } from './claims.ts'
import { headOfEvent, type Logged } from './storm-log.ts'
import type { Tables } from './storm-tables.ts'

/** How much the nodes' measurements of the server's time may differ on a busy machine. */
const clockToleranceMs = 100

export interface Storm {
  readonly logs: readonly Logged[]
  readonly tables: Tables
  readonly firstEventAt: number
}

type Grant = Logged & { readonly runId: string; readonly fence: number }

export function checkLogs(storm: Storm): string[] {
  const done = storm.logs.filter(({ phase }) => phase === 'done')
  const grants = done.filter(({ granted }) => granted === true) as Grant[]
  return [
    ...nothingForgotten(grants, done, storm),
    ...fencesGrow(grants, storm),
    ...oldHoldersRefused(grants, done),
    ...nobodyReclaimsLiveLeases(grants, done, storm),
    ...newestHeadOwns(done, storm),
    ...storm.logs.flatMap(({ phase, verb, reason }) =>
      phase === 'failed' ? [`${verb} failed: ${reason}`] : [],
    ),
  ]
}

/** Everything that the store answered is committed. */
function nothingForgotten(grants: Grant[], done: Logged[], { tables }: Storm): string[] {
  const audit = new Map(tables.audit.map((line) => [line.id, line]))
  const ended = new Set(tables.audit.map(({ runId, actor, type }) => `${runId} ${actor} ${type}`))
  const lost = grants.filter(({ fence, runId, actor }) => {
    const line = audit.get(fence)
    return line?.runId !== runId || line.actor !== actor
  })
  const lostCompletions = done.filter(({ verb, runId, actor }) => {
    if (verb !== 'complete') return false
    return !['succeeded', 'failed'].some((type) => ended.has(`${runId} ${actor} run.${type}`))
  })
  return [...lost, ...lostCompletions].map(({ verb, actor }) => `the ${verb} of ${actor} was lost`)
}

/** Of two grants on one subject, the one that was asked for later has the greater fence. */
function fencesGrow(grants: Grant[], { tables }: Storm): string[] {
  const subjectOf = new Map(tables.runs.map((row) => [row['id'], row['subject_id']]))
  const bySubject = Map.groupBy(grants, ({ runId }) => subjectOf.get(runId))
  return [...bySubject.values()].flatMap((mine) =>
    mine.flatMap((later) =>
      mine
        .filter(({ at, fence }) => at < later.beganAt && fence >= later.fence)
        .map((earlier) => `${later.actor} has fence ${later.fence}, after ${earlier.fence}`),
    ),
  )
}

/** After a later grant or a cancel was answered, an earlier holder's writes are refused. */
function oldHoldersRefused(grants: Grant[], done: Logged[]): string[] {
  const cancels = done.filter(({ verb }) => verb === 'cancel') as Grant[]
  const writes = done.filter(({ verb }) => verb === 'heartbeat' || verb === 'release') as Grant[]
  const taken = Map.groupBy([...grants, ...cancels], ({ runId }) => runId)
  return writes.flatMap((write) =>
    (taken.get(write.runId) ?? [])
      .filter(({ at, fence, verb }) => {
        const later = verb === 'cancel' ? fence >= write.fence : fence > write.fence
        return later && at < write.beganAt
      })
      .map(({ actor }) => `${write.actor} did ${write.verb} after ${actor} had taken its run`),
  )
}

function nobodyReclaimsLiveLeases(grants: Grant[], done: Logged[], { tables }: Storm): string[] {
  const times = new Map(tables.audit.map(({ id, at }) => [id, at]))
  const renewals = done.filter(({ verb, expiresAt }) => {
    return expiresAt !== undefined && ['claim', 'lease', 'heartbeat'].includes(verb)
  }) as Grant[]
  const byRun = Map.groupBy(renewals, ({ runId }) => runId)
  return grants
    .filter(({ reason }) => reason === 'reclaimed')
    .flatMap((taker) => {
      const earlier = byRun.get(taker.runId) ?? []
      const holder = Math.max(
        0,
        ...earlier.map(({ fence }) => fence).filter((f) => f < taker.fence),
      )
      const takenAt = times.get(taker.fence) ?? Infinity
      return earlier
        .filter(({ fence, at }) => fence === holder && at < taker.beganAt)
        .filter(({ expiresAt }) => (expiresAt ?? 0) > takenAt + clockToleranceMs)
        .map(({ actor }) => `${taker.actor} took the live lease of ${actor}`)
    })
}

/**
 * Second half of rule 1: the newest head in GitHub's order is the current one, and has the work.
 */
function newestHeadOwns(done: Logged[], { tables, firstEventAt }: Storm): string[] {
  const claims = done.filter(({ verb }) => verb === 'claim')
  return tables.subjects.flatMap((subject) => {
    const mine = claims.filter(({ pr }) => `pr-${pr}` === subject['name'])
    const newest = Math.max(-1, ...mine.map(({ event }) => event ?? -1))
    const current = (Number(subject['head_at']) - firstEventAt) / 1000
    const name = String(subject['name'])
    const active = tables.runs.filter(
      (row) => row['subject_id'] === subject['id'] && row['finished_at'] === null,
    )
    return [
      ...(current < newest ? [`${name} is at event ${current}, but ${newest} was decided on`] : []),
      ...(subject['head_sha'] === sha(headOfEvent(current)) ? [] : [`${name} has the wrong head`]),
      ...active
        .filter((row) => row['head_sha'] !== subject['head_sha'])
        .map((row) => `${name}: ${String(row['id'])} is active, but not of the newest head`),
    ]
  })
}
