/**
 * What a run wants GitHub to show: one comment, one commit status, one check run. Pure: from the
 * run alone, at any moment of its life, so that every end closes what its beginning opened.
 */
import type { Run } from '../run.ts'
import { isActive } from '../run.ts'
import type { ChannelName, DeliveryKind } from './delivery.ts'
import { checkOf, statusOf } from './status-words.ts'

export interface WantedOutput {
  readonly channel: ChannelName
  readonly kind: DeliveryKind
  readonly name: string
  readonly target: string
  /** What the marker's key is made from: the same for whichever store computes it. */
  readonly markerText: string
  readonly thread: number | null
  readonly sha: string | null
  /** For an anchor: made by `anchorView` from what stands there. */
  readonly content: Readonly<Record<string, unknown>> | 'anchor'
  readonly final: boolean
  /** It shows work under way, which the end of the run has to close. */
  readonly announces: boolean
  /**
   * - `take`: this run owns the target from now on.
   * - `take-existing`: the same, but only where something of ours stands already.
   * - `keep`: only while the target is this run's.
   */
  readonly claim: 'take' | 'take-existing' | 'keep'
  /** Where nothing of this round was ever sent there is nothing to close. */
  readonly closesOnly: boolean
}

/** `began`: this is the round's first word, not a later one. */
export function wantedOutputsOf(
  run: Run,
  repositoryId: string,
  began: boolean,
): readonly WantedOutput[] {
  if (run.repo === null || wasNeverTaken(run)) return []
  const ended = !isActive(run)
  const common = {
    kind: 'state',
    final: ended,
    announces: !ended,
    claim: began ? 'take' : 'keep',
    closesOnly: run.state === 'superseded' || run.state === 'cancelled',
  } as const
  return [
    ...anchorOutput(run, common),
    ...statusOutput(run, repositoryId, common),
    ...checkOutput(run, common),
  ]
}

type Common = Pick<WantedOutput, 'kind' | 'final' | 'announces' | 'claim' | 'closesOnly'>

const notTaken: readonly string[] = ['stale-event', 'busy', 'head-newer-than-comment']

/** Stored for the record only: it never became the subject's current run. */
export function wasNeverTaken({ state, errorCode }: Run): boolean {
  return state === 'skipped' && notTaken.includes(errorCode ?? '')
}

function anchorOutput(run: Run, common: Common): WantedOutput[] {
  if (run.anchorPer === null || run.pr === null) return []
  const perRun = run.anchorPer === 'run'
  return [
    {
      ...common,
      channel: 'github-comment',
      name: 'anchor',
      target: anchorTarget(run),
      markerText: `${run.type}\n${perRun ? run.pair : run.subject}\nanchor`,
      thread: run.pr,
      sha: null,
      content: 'anchor',
      claim: anchorClaim(run, common.claim),
    },
  ]
}

export function anchorTarget({ anchorPer, id, subjectId }: AnchorOwner): string {
  return anchorPer === 'run' ? `anchor run ${id}` : `anchor subject ${subjectId}`
}
export type AnchorOwner = Pick<Run, 'anchorPer' | 'id' | 'subjectId'>

/** One that queues leaves the comment to the run before it; one that is skipped makes none. */
function anchorClaim(run: Run, claim: WantedOutput['claim']): WantedOutput['claim'] {
  if (claim !== 'take') return claim
  if (run.state === 'skipped') return 'take-existing'
  return run.state === 'pending' && run.availableAt === null ? 'keep' : 'take'
}

function statusOutput(run: Run, repositoryId: string, common: Common): WantedOutput[] {
  const { statusContext, headSha } = run
  if (statusContext === null || headSha === null) return []
  const content = { context: statusContext, ...statusOf(run), targetUrl: run.targetUrl }
  return [
    {
      ...common,
      channel: 'github-status',
      name: 'status',
      target: statusTarget(repositoryId, headSha, statusContext),
      markerText: `${run.type}\n${run.pair}\nstatus`,
      thread: run.pr,
      sha: headSha,
      content,
    },
  ]
}

/** GitHub takes contexts that differ in case for one. */
export function statusTarget(repositoryId: string, sha: string, context: string): string {
  return `status ${repositoryId} ${sha} ${context.toLowerCase()}`
}

/** A completed check run cannot be opened again: every round has its own. */
function checkOutput(run: Run, common: Common): WantedOutput[] {
  const { checkName, headSha } = run
  if (checkName === null || headSha === null) return []
  return [
    {
      ...common,
      channel: 'github-check',
      name: 'check',
      target: checkTarget(run),
      markerText: checkMarkerText(run, run.round),
      thread: run.pr,
      sha: headSha,
      content: checkContent(run),
    },
  ]
}

export function checkContent(run: Run): Readonly<Record<string, unknown>> {
  const { startedAt, finishedAt, targetUrl } = run
  return {
    name: run.checkName,
    ...checkOf(run),
    detailsUrl: targetUrl,
    // Only with its end: a new holder is no reason to write.
    startedAt: finishedAt === null ? null : startedAt,
    completedAt: finishedAt,
  }
}

export function checkTarget({ id, round, checkName }: Run): string {
  return `check ${id} ${round} ${checkName}`
}

/**
 * All check runs of a commit are in one list, and pull requests can share a commit and its base: so
 * the key names the subject too. Two names of one repository call it the same.
 */
export function checkMarkerText(run: MarkedCheck, round: number): string {
  return `${run.type}\n${run.subject}\n${run.pair}\ncheck ${round}`
}
type MarkedCheck = Pick<Run, 'type' | 'subject' | 'pair'>
