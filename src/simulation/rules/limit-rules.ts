/** Rule 8c: an identity sends no request while GitHub tells it to wait. */
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { tracedRequests, type TracedRequest } from './traced-requests.ts'

/** The time until every node knows of the block. Until then a node may still send a request. */
const graceMs = 12_000

export function checkLimits(world: World, findings: Findings): void {
  const requests = tracedRequests(world).filter(isPublishing)
  for (const limited of requests) {
    const until = blockedUntil(limitOf(limited), world)
    const from = limited.sent.answer?.at ?? 0
    const wasInterrupted = limited.sent.node.interruptedAt.some(
      (at) => at >= from && at < from + graceMs,
    )
    if (until === null || wasInterrupted) continue
    const identity = identityOf(limited, world)
    for (const other of requests) {
      const { decidedAt } = other.sent
      if (decidedAt < from + graceMs || decidedAt > until - 1000) continue
      findings.check('8c', identityOf(other, world) !== identity, () => {
        const { index, method, path } = other.received
        const what = `request ${index} (${method} ${path})`
        return `${what} was sent although the answer to ${limited.received.index} said to wait`
      })
    }
    findings.check('8c', true, () => '')
  }
}

/** A clock set forward ends a stored block sooner, and a restore forgets it. */
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

/** Questions of intake (a role, a head) do not use the publisher's budget. */
const isPublishing = ({ received }: TracedRequest): boolean =>
  /\/(comments|statuses|check-runs|reviews|labels)\b/.test(received.path)

/** Each installation has its own limit; an account has one limit for all repositories. */
function identityOf({ received }: TracedRequest, { isApp, repositories }: World): string {
  if (!isApp) return 'account'
  const [, owner, id] = /^\/(?:repos\/([^/]+)|repositories\/(\d+))\//.exec(received.path) ?? []
  const repository = repositories.find((repo) => String(repo.id) === id)
  return owner ?? repository?.name.split('/')[0] ?? ''
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
  const githubNow = Date.parse(headers.get('date') ?? '')
  return { from, until: from + Number(headers.get('x-ratelimit-reset')) * 1000 - githubNow }
}
