/** Rule 8c: nothing is asked of GitHub under an identity while GitHub says "not now" to it. */
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { tracedRequests, type TracedRequest } from './traced-requests.ts'

/** From the answer until every node can know of the block; what was begun may still leave. */
const graceMs = 12_000

export function checkLimits(world: World, findings: Findings): void {
  const requests = tracedRequests(world).filter(isPublishing)
  for (const one of requests) {
    const until = blockedUntil(limitOf(one), world)
    const from = one.sent.answer?.at ?? 0
    const fell = one.sent.node.interruptedAt.some((at) => at >= from && at < from + graceMs)
    if (until === null || fell) continue
    const identity = identityOf(one, world)
    for (const other of requests) {
      const { decidedAt } = other.sent
      if (decidedAt < from + graceMs || decidedAt > until - 1000) continue
      findings.check('8c', identityOf(other, world) !== identity, () => {
        const { index, method, path } = other.received
        const what = `request ${index} (${method} ${path})`
        return `${what} left while request ${one.received.index} was told to wait`
      })
    }
    findings.check('8c', true, () => '')
  }
}

/** A block is stored by the clock: one that is set ahead ends it sooner. A restore forgets it. */
function blockedUntil(limit: Limit | null, world: World): number | null {
  const { clockJumps, forgotten } = world
  if (limit === null) return null
  if (world.isForgotten(limit.from)) return Math.min(limit.until, forgotten?.until ?? 0)
  const ahead = clockJumps.filter(({ at, ms }) => ms > 0 && at >= limit.from)
  return ahead.reduce(
    (until, { at, ms }) => (at < until ? Math.max(at, until - ms) : until),
    limit.until,
  )
}

/** What intake asks (a role, a head) is not the publisher's budget. */
const isPublishing = ({ received }: TracedRequest): boolean =>
  /\/(comments|statuses|check-runs|reviews|labels)\b/.test(received.path)

/** An installation is limited by itself; an account is one, wherever it writes. */
function identityOf({ received }: TracedRequest, { isApp, repositories }: World): string {
  if (!isApp) return 'account'
  const [, owner, id] = /^\/(?:repos\/([^/]+)|repositories\/(\d+))\//.exec(received.path) ?? []
  const known = repositories.find((repo) => String(repo.id) === id)
  return owner ?? known?.name.split('/')[0] ?? ''
}

interface Limit {
  readonly from: number
  readonly until: number
}

function limitOf({ sent }: TracedRequest): Limit | null {
  if (sent.answer === null) return null
  const { status, headers } = sent.answer.response
  if (status !== 403 && status !== 429) return null
  const from = sent.answer.at
  const after = headers.get('retry-after')
  if (after !== null) return { from, until: from + Number(after) * 1000 }
  if (headers.get('x-ratelimit-remaining') !== '0') return null
  const theirNow = Date.parse(headers.get('date') ?? '')
  return { from, until: from + Number(headers.get('x-ratelimit-reset')) * 1000 - theirNow }
}
