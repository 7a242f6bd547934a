/**
 * What a run should show on each channel that announces runs. It is computed from the run alone, at
 * any time of its life. So every end of a run closes what its beginning announced.
 */
import type { Run } from '../run.ts'
import { isActive } from '../run.ts'
import type { ChannelDeclaration, Content, KnownChannels } from './channel-declaration.ts'
import type { DeliveryKind } from './delivery.ts'

/** What should be shown at a target. */
export interface WantedOutput {
  readonly channel: ChannelDeclaration
  readonly kind: DeliveryKind
  readonly name: string
  readonly target: string
  /** The text that the marker key is computed from. It is the same in every store. */
  readonly markerText: string
  readonly thread: number | null
  readonly sha: string | null
  /** A function if the content also depends on what was shown before. */
  readonly content: Content | ((run: Run, before: Content | null) => Content)
  readonly final: boolean
  /** It shows work in progress, which must be closed when the run ends. */
  readonly announces: boolean
  /**
   * - `take`: this run owns the target from now on.
   * - `take-existing`: the same, but only if an output of ours is already there.
   * - `keep`: only if this run already owns the target.
   */
  readonly claim: 'take' | 'take-existing' | 'keep'
  /** It only closes what was shown. If nothing of this round was sent, nothing is sent now. */
  readonly closesOnly: boolean
}

/** How a channel shows a run. */
export interface RunAnnouncement {
  /** The name of the delivery. No run can use this name for its own output. */
  readonly name: string
  /** Returns null if this run is not shown there. */
  readonly of: (run: Run, repositoryId: string, moment: RunMoment) => AnnouncedOutput | null
}

/** The fields that depend only on the run's state. They are the same on every channel. */
export type RunMoment = Pick<WantedOutput, 'kind' | 'final' | 'announces' | 'claim' | 'closesOnly'>

export type AnnouncedOutput = Pick<
  WantedOutput,
  'target' | 'markerText' | 'thread' | 'sha' | 'content'
> &
  Partial<RunMoment>

/** `began`: this is the first time that the round is shown, not a later change. */
export function wantedOutputsOf(
  run: Run,
  repositoryId: string,
  began: boolean,
  channels: KnownChannels,
): readonly WantedOutput[] {
  if (run.repo === null || wasNeverCurrent(run)) return []
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

/** The delivery shows a run. If not, it is something that a run published itself. */
export function isAnnouncement(
  { announcement }: ChannelDeclaration,
  { name }: { readonly name: string },
): boolean {
  return announcement !== undefined && announcement.name === name
}

const neverCurrent: readonly string[] = ['stale-event', 'busy', 'head-newer-than-comment']

/** The run was stored only for the record. It never became the subject's current run. */
export function wasNeverCurrent({ state, errorCode }: Run): boolean {
  return state === 'skipped' && neverCurrent.includes(errorCode ?? '')
}

export function anchorTarget({ anchorPer, id, subjectId }: AnchorOwner): string {
  return anchorPer === 'run' ? `anchor run ${id}` : `anchor subject ${subjectId}`
}
export type AnchorOwner = Pick<Run, 'anchorPer' | 'id' | 'subjectId'>
