/**
 * Runs of several pull requests can publish a status under one context of their own on one commit.
 * The newest claim is shown; what the others said is kept with it, because one that ends without a
 * result gives the place back to the newest of them.
 */
import type { Run } from '../run.ts'
import { isActive } from '../run.ts'
import type { WantedOutput } from './announce.ts'
import { isAnnouncement } from './announce.ts'
import type { ChannelDeclaration, Content } from './channel-declaration.ts'
import type { Delivery, ProtocolState } from './delivery.ts'

/** What a run said at a place that another one has now. */
export interface Said {
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

/** The oldest are forgotten. */
const keptMax = 10

/** What shows the run itself is made from the run at any time: nothing to remember. */
export function isGivenBack(
  channel: ChannelDeclaration,
  delivery: Pick<Delivery, 'name'>,
): boolean {
  return channel.givesBack && !isAnnouncement(channel, delivery)
}

export function hasResult(run: Run): boolean {
  return isActive(run) || run.state === 'succeeded' || run.state === 'failed'
}

export function saidBy(run: Run, { wanted, markerKey }: SaidOutput): Said {
  const { name, thread, final, announces } = wanted
  const content = JSON.stringify(wanted.content)
  const { id: runId, claimFence } = run
  return { runId, claimFence, name, thread, markerKey, content, final, announces }
}
interface SaidOutput {
  readonly wanted: WantedOutput
  readonly markerKey: string
}

/** What stands there, for when another run takes the place. */
export function saidIn(existing: Delivery): Said {
  const { runId, name, thread, markerKey, content, final, announces, protocol } = existing
  const claimFence = protocol.givenBack ?? existing.versionFence
  return { runId, claimFence, name, thread, markerKey, content, final, announces }
}

/** Of each run the last word, the newest claim first. */
export function withSaid(protocol: ProtocolState, said: Said): ProtocolState {
  const others = (protocol.saidThere ?? []).filter(({ runId }) => runId !== said.runId)
  const kept = [said, ...others].toSorted((a, b) => b.claimFence - a.claimFence)
  return { ...protocol, saidThere: kept.slice(0, keptMax) }
}

/** The place has been taken by this run: what it said before is not another's. */
export function afterTaking(
  channel: ChannelDeclaration,
  existing: Delivery,
  taken: Delivery,
): ProtocolState {
  if (!isGivenBack(channel, existing) || existing.runId === taken.runId) return taken.protocol
  const { saidThere = [], ...protocol } = withSaid(taken.protocol, saidIn(existing))
  return { ...protocol, saidThere: saidThere.filter(({ runId }) => runId !== taken.runId) }
}

export interface NextShown {
  readonly said: Said
  readonly run: Run
  readonly later: readonly Said[]
}

/** The newest of the others whose run goes on or has a result; one that began anew says it anew. */
export function nextShown({ protocol }: Delivery, runs: readonly Run[]): NextShown | null {
  const { saidThere = [] } = protocol
  for (const [at, said] of saidThere.entries()) {
    const run = runs.find(
      ({ id, claimFence }) => id === said.runId && claimFence === said.claimFence,
    )
    if (run !== undefined && hasResult(run)) return { said, run, later: saidThere.slice(at + 1) }
  }
  return null
}

/** What a run that has the place again wants to show there; its end may have come meanwhile. */
export function outputShownAgain(
  channel: ChannelDeclaration,
  { kind, target, sha }: Delivery,
  { said, run }: NextShown,
  now: number,
): WantedOutput {
  const wasLeftOpen = said.announces && !isActive(run)
  const content = JSON.parse(said.content) as Content
  return {
    ...{ channel, kind, target, sha, name: said.name, thread: said.thread, markerText: '' },
    content: wasLeftOpen ? (channel.closed?.(content, run, now) ?? content) : content,
    final: said.final || wasLeftOpen,
    announces: said.announces && !wasLeftOpen,
    claim: 'keep',
    closesOnly: false,
  }
}
