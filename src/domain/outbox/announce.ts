/**
 * What a run wants to show of itself, on each channel that announces runs. Pure: from the run
 * alone, at any moment of its life, so that every end closes what its beginning opened.
 */
import type { Run } from '../run.ts'
import { isActive } from '../run.ts'
import type { ChannelDeclaration, Content, KnownChannels } from './channel-declaration.ts'
import type { DeliveryKind } from './delivery.ts'

/** What should show at a target. */
export interface WantedOutput {
  readonly channel: ChannelDeclaration
  readonly kind: DeliveryKind
  readonly name: string
  readonly target: string
  /** What the marker's key is made from: the same for whichever store computes it. */
  readonly markerText: string
  readonly thread: number | null
  readonly sha: string | null
  /** A function where it goes on from what was shown before. */
  readonly content: Content | ((run: Run, before: Content | null) => Content)
  readonly final: boolean
  /** It shows work under way, which the end of the run has to close. */
  readonly announces: boolean
  /**
   * - `take`: this run owns the target from now on.
   * - `take-existing`: the same, but only where something of ours is there already.
   * - `keep`: only while the target is this run's.
   */
  readonly claim: 'take' | 'take-existing' | 'keep'
  /** Where nothing of this round was ever sent there is nothing to close. */
  readonly closesOnly: boolean
}

/** How a channel shows a run. */
export interface RunAnnouncement {
  /** Of the delivery; no run can give its own output this name. */
  readonly name: string
  /** Null where this run is not shown there. */
  readonly of: (run: Run, repositoryId: string, moment: RunMoment) => AnnouncedOutput | null
}

/** What the moment of a run's life says, the same on every channel. */
export type RunMoment = Pick<WantedOutput, 'kind' | 'final' | 'announces' | 'claim' | 'closesOnly'>

export type AnnouncedOutput = Pick<
  WantedOutput,
  'target' | 'markerText' | 'thread' | 'sha' | 'content'
> &
  Partial<RunMoment>

/** `began`: this is the first that the round shows, not a later change. */
export function wantedOutputsOf(
  run: Run,
  repositoryId: string,
  began: boolean,
  channels: KnownChannels,
): readonly WantedOutput[] {
  if (run.repo === null || wasNeverTaken(run)) return []
  const ended = !isActive(run)
  const moment: RunMoment = {
    kind: 'state',
    final: ended,
    announces: !ended,
    claim: began ? 'take' : 'keep',
    closesOnly: run.state === 'superseded' || run.state === 'cancelled',
  }
  return channels.all.flatMap((channel) => {
    const { announcement } = channel
    const output = announcement?.of(run, repositoryId, moment) ?? null
    if (announcement === undefined || output === null) return []
    return [{ ...moment, channel, name: announcement.name, ...output }]
  })
}

/** It shows a run, rather than something that a run published itself. */
export function isAnnouncement(
  { announcement }: ChannelDeclaration,
  { name }: { readonly name: string },
): boolean {
  return announcement !== undefined && announcement.name === name
}

const notTaken: readonly string[] = ['stale-event', 'busy', 'head-newer-than-comment']

/** Stored for the record only: it never became the subject's current run. */
export function wasNeverTaken({ state, errorCode }: Run): boolean {
  return state === 'skipped' && notTaken.includes(errorCode ?? '')
}

export function anchorTarget({ anchorPer, id, subjectId }: AnchorOwner): string {
  return anchorPer === 'run' ? `anchor run ${id}` : `anchor subject ${subjectId}`
}
export type AnchorOwner = Pick<Run, 'anchorPer' | 'id' | 'subjectId'>
