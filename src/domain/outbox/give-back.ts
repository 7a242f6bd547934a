/**
 * Giving back a target. Runs of several pull requests can publish a status with the same context on
 * one commit. The run with the newest claim is shown, and the outputs of the others are kept with
 * it. If the shown run ends without a result, the target is given back to the newest of the others.
 */
import type { Run } from '../run.ts'
import { isActive } from '../run.ts'
import type { WantedOutput } from './announce.ts'
import { isAnnouncement } from './announce.ts'
import type { ChannelDeclaration, Content } from './channel-declaration.ts'
import type { Delivery, ProtocolState } from './delivery.ts'

/** The output of a run at a target that another run has now. */
export interface KeptOutput {
  readonly runId: string | null
  readonly claimFence: number
  readonly name: string
  readonly thread: number | null
  readonly markerKey: string
  /** JSON, as in the delivery. */
  readonly content: string
  readonly final: boolean
  readonly announces: boolean
}

/** The oldest outputs are dropped. */
const keptMax = 10

/** An announcement need not be kept, because it can be computed from the run at any time. */
export function canBeGivenBack(
  channel: ChannelDeclaration,
  delivery: Pick<Delivery, 'name'>,
): boolean {
  return channel.givesBack && !isAnnouncement(channel, delivery)
}

/** A run that ended in any other way gives its targets back. */
export function hasOrExpectsResult(run: Run): boolean {
  return isActive(run) || run.state === 'succeeded' || run.state === 'failed'
}

export function keptOutputOf(run: Run, { wanted, markerKey }: OutputToKeep): KeptOutput {
  const { name, thread, final, announces } = wanted
  const content = JSON.stringify(wanted.content)
  const { id: runId, claimFence } = run
  return { runId, claimFence, name, thread, markerKey, content, final, announces }
}
interface OutputToKeep {
  readonly wanted: WantedOutput
  readonly markerKey: string
}

/** What is shown there now, in case another run takes the target. */
export function keptOutputIn(existing: Delivery): KeptOutput {
  const { runId, name, thread, markerKey, content, final, announces, protocol } = existing
  const claimFence = protocol.givenBack ?? existing.versionFence
  return { runId, claimFence, name, thread, markerKey, content, final, announces }
}

/** Keeps the last output of each run, the newest claim first. */
export function withKeptOutput(protocol: ProtocolState, output: KeptOutput): ProtocolState {
  const others = (protocol.saidThere ?? []).filter(({ runId }) => runId !== output.runId)
  const kept = [output, ...others].toSorted((a, b) => b.claimFence - a.claimFence)
  return { ...protocol, saidThere: kept.slice(0, keptMax) }
}

/** The run `taken.runId` has taken the target. Only outputs of other runs are kept. */
export function protocolAfterTaking(
  channel: ChannelDeclaration,
  existing: Delivery,
  taken: Delivery,
): ProtocolState {
  if (!canBeGivenBack(channel, existing) || existing.runId === taken.runId) return taken.protocol
  const { saidThere: outputs = [], ...protocol } = withKeptOutput(
    taken.protocol,
    keptOutputIn(existing),
  )
  return { ...protocol, saidThere: outputs.filter(({ runId }) => runId !== taken.runId) }
}

export interface NextToShow {
  readonly kept: KeptOutput
  readonly run: Run
  readonly later: readonly KeptOutput[]
}

/**
 * The newest kept output whose run is active or has a result. A run that started another round
 * since then is left out, because that round publishes its own output.
 */
export function nextToShow({ protocol }: Delivery, runs: readonly Run[]): NextToShow | null {
  const { saidThere: outputs = [] } = protocol
  for (const [at, kept] of outputs.entries()) {
    const run = runs.find(
      ({ id, claimFence }) => id === kept.runId && claimFence === kept.claimFence,
    )
    if (run !== undefined && hasOrExpectsResult(run))
      return { kept, run, later: outputs.slice(at + 1) }
  }
  return null
}

/** What a run that has the target again wants to show there. The run may have ended meanwhile. */
export function outputToShowAgain(
  channel: ChannelDeclaration,
  { kind, target, sha }: Delivery,
  { kept, run }: NextToShow,
  now: number,
): WantedOutput {
  const wasLeftOpen = kept.announces && !isActive(run)
  const content = JSON.parse(kept.content) as Content
  return {
    ...{ channel, kind, target, sha, name: kept.name, thread: kept.thread, markerText: '' },
    content: wasLeftOpen ? (channel.closed?.(content, run, now) ?? content) : content,
    final: kept.final || wasLeftOpen,
    announces: kept.announces && !wasLeftOpen,
    claim: 'keep',
    closesOnly: false,
  }
}
