/**
 * Runs of several pull requests can publish a status under one context of their own on one commit.
 * The newest claim is shown; what the others said is kept with it, because one that ends without a
 * result gives the place back to the newest of them.
 */
import type { Run } from '../run.ts'
import { isActive } from '../run.ts'
import type { Desire } from './announce.ts'
import type { Delivery, Memo } from './delivery.ts'
import { closedContent } from './left-open.ts'

/** What a run said at a place that another one has now. */
export interface Said {
  readonly runId: string
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

/** The status that shows the run itself is made from the run at any time: nothing to remember. */
export function isOwnStatus({ channel, name }: Pick<Delivery, 'channel' | 'name'>): boolean {
  return channel === 'github-status' && name !== 'status'
}

export function hasResult(run: Run): boolean {
  return isActive(run) || run.state === 'succeeded' || run.state === 'failed'
}

export function saidBy(run: Run, { desire, markerKey }: SaidWish): Said {
  const { name, thread, final, announces } = desire
  const content = JSON.stringify(desire.content)
  const { id: runId, claimFence } = run
  return { runId, claimFence, name, thread, markerKey, content, final, announces }
}
interface SaidWish {
  readonly desire: Desire
  readonly markerKey: string
}

/** What stands there, for when another run takes the place. */
export function saidIn(standing: Delivery): Said {
  const { runId, name, thread, markerKey, content, final, announces, memo } = standing
  const claimFence = memo.givenBack ?? standing.versionFence
  return { runId, claimFence, name, thread, markerKey, content, final, announces }
}

/** Of each run the last word, the newest claim first. */
export function withSaid(memo: Memo, said: Said): Memo {
  const others = (memo.saidThere ?? []).filter(({ runId }) => runId !== said.runId)
  const kept = [said, ...others].toSorted((a, b) => b.claimFence - a.claimFence)
  return { ...memo, saidThere: kept.slice(0, keptMax) }
}

/** The place has been taken by this run: what it said before is not another's. */
export function afterTaking(standing: Delivery, taken: Delivery): Memo {
  if (!isOwnStatus(standing) || standing.runId === taken.runId) return taken.memo
  const { saidThere = [], ...memo } = withSaid(taken.memo, saidIn(standing))
  return { ...memo, saidThere: saidThere.filter(({ runId }) => runId !== taken.runId) }
}

export interface NextShown {
  readonly said: Said
  readonly run: Run
  readonly later: readonly Said[]
}

/** The newest of the others whose run goes on or has a result; one that began anew says it anew. */
export function nextShown({ memo }: Delivery, runs: readonly Run[]): NextShown | null {
  const { saidThere = [] } = memo
  for (const [at, said] of saidThere.entries()) {
    const run = runs.find(
      ({ id, claimFence }) => id === said.runId && claimFence === said.claimFence,
    )
    if (run !== undefined && hasResult(run)) return { said, run, later: saidThere.slice(at + 1) }
  }
  return null
}

/** What a run that has the place again wants to show there; its end may have come meanwhile. */
export function desireAgain(standing: Delivery, { said, run }: NextShown, now: number): Desire {
  const wasLeftOpen = said.announces && !isActive(run)
  const { channel, kind, target, sha } = standing
  const content = wasLeftOpen
    ? closedContent({ channel, content: said.content }, run, now)
    : (JSON.parse(said.content) as Readonly<Record<string, unknown>>)
  return {
    ...{ channel, kind, target, sha, name: said.name, thread: said.thread, markerText: '' },
    content,
    final: said.final || wasLeftOpen,
    announces: said.announces && !wasLeftOpen,
    claim: 'keep',
    closesOnly: false,
  }
}
