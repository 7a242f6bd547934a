/**
 * Check runs. Only an App writes them, and each POST creates a new one. A completed check run stays
 * completed: GitHub ignores a later status silently.
 */
import { checkRunJson } from '../json/check-run-json.ts'
import { unprocessable } from '../refusal.ts'
import { emitEvent } from './events.ts'
import { canSeeCommit, type Repository } from './repositories.ts'
import type { User } from './users.ts'
import type { World } from './world.ts'

export const checkStatuses = ['queued', 'in_progress', 'completed'] as const
export type CheckStatus = (typeof checkStatuses)[number]

export const checkConclusions = [
  ...['action_required', 'cancelled', 'failure', 'neutral', 'success', 'skipped'],
  'timed_out',
]

export interface CheckOutput {
  readonly title: string | null
  readonly summary: string | null
  readonly text: string | null
}

export interface CheckRun {
  readonly id: number
  readonly repository: Repository
  readonly suiteId: number
  readonly headSha: string
  readonly creator: User
  readonly createdAt: number
  name: string
  externalId: string | null
  detailsUrl: string | null
  status: CheckStatus
  conclusion: string | null
  startedAt: number | null
  completedAt: number | null
  output: CheckOutput
  annotations: number
  /** Indexes of the requests that created and changed it. */
  readonly requests: (number | null)[]
}

export type CheckChange = Partial<
  Pick<
    CheckRun,
    | 'name'
    | 'externalId'
    | 'detailsUrl'
    | 'status'
    | 'conclusion'
    | 'startedAt'
    | 'completedAt'
    | 'output'
  >
> & { readonly addedAnnotations: number }

/** Most check runs of one name in one suite; GitHub then removes the oldest. */
const perNameMax = 1000

export function addCheckRun(
  world: World,
  repository: Repository,
  creator: User,
  headSha: string,
  change: CheckChange & { readonly name: string },
): CheckRun {
  if (!canSeeCommit(world, repository, headSha)) {
    throw unprocessable(`No commit found for SHA: ${headSha}`)
  }
  const sameCommit = repository.checkRuns.find((each) => each.headSha === headSha)
  const run: CheckRun = {
    id: world.nextId(),
    repository,
    suiteId: sameCommit?.suiteId ?? world.nextId(),
    headSha,
    creator,
    createdAt: world.nowMs(),
    name: change.name,
    externalId: '',
    detailsUrl: null,
    status: 'queued',
    conclusion: null,
    startedAt: null,
    completedAt: null,
    output: { title: null, summary: null, text: null },
    annotations: 0,
    requests: [],
  }
  apply(world, run, change)
  repository.checkRuns.push(run)
  world.checkRuns.set(run.id, run)
  removeOldest(world, repository, run)
  emitCheckRunEvent(world, run, creator, 'created')
  if (run.status === 'completed') emitCheckRunEvent(world, run, creator, 'completed')
  return run
}

export function changeCheckRun(
  world: World,
  run: CheckRun,
  sender: User,
  change: CheckChange,
): void {
  const wasCompleted = run.status === 'completed'
  apply(world, run, change)
  if (!wasCompleted && run.status === 'completed')
    emitCheckRunEvent(world, run, sender, 'completed')
}

/** A person presses "Re-run" on the website. */
export function rerequestCheckRun(world: World, run: CheckRun, by: User): void {
  emitCheckRunEvent(world, run, by, 'rerequested')
}

function apply(world: World, run: CheckRun, change: CheckChange): void {
  const { addedAnnotations, ...fields } = change
  const now = world.nowMs()
  // A conclusion completes a check run, whatever status comes with it.
  const wantedStatus = fields.conclusion == null ? fields.status : 'completed'
  const status = run.status === 'completed' ? 'completed' : (wantedStatus ?? run.status)
  const reopens =
    run.status === 'completed' && wantedStatus !== undefined && wantedStatus !== 'completed'
  Object.assign(run, fields, { status })
  if (status === 'completed' && !reopens)
    run.completedAt = fields.completedAt ?? run.completedAt ?? now
  if (status !== 'queued') run.startedAt ??= now
  run.annotations += addedAnnotations
  run.requests.push(world.request)
  world.countChange()
}

function removeOldest(world: World, repository: Repository, { name, suiteId }: CheckRun): void {
  const same = repository.checkRuns.filter((each) => each.name === name && each.suiteId === suiteId)
  for (const old of same.slice(0, Math.max(0, same.length - perNameMax))) {
    repository.checkRuns.splice(repository.checkRuns.indexOf(old), 1)
    world.checkRuns.delete(old.id)
  }
}

function emitCheckRunEvent(world: World, run: CheckRun, sender: User, action: string): void {
  emitEvent(world, run.repository, sender, 'check_run', action, () => ({
    check_run: checkRunJson(world, run),
  }))
}
