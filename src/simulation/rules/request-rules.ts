/**
 * Rule 8 and its company, by what arrived at GitHub: a create nobody answered is looked for before
 * the next one; nothing is said twice; nothing is asked while GitHub says "not now".
 */
import type { ReceivedRequest } from '../../simulator/index.ts'
import type { Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { SentByNode, World } from '../world.ts'
import { repoOf } from './shown-rules.ts'

interface Told {
  readonly received: ReceivedRequest
  readonly sent: SentByNode
}

/** From the answer until every node can know of the block; what was begun may still leave. */
const graceMs = 12_000

export function checkRequests(world: World, findings: Findings): void {
  const told = world.github.requests
    .flatMap((received) => {
      const sent = world.sent.get(received.headers['x-request-id'] ?? '')
      return sent === undefined ? [] : [{ received, sent }]
    })
    .toSorted((a, b) => a.sent.decidedAt - b.sent.decidedAt || a.received.index - b.received.index)
  checkLooks(told, world, findings)
  checkLimits(told, findings)
}

interface Pending {
  readonly index: number
  readonly wasAnswered: boolean
}

function checkLooks(told: readonly Told[], world: World, findings: Findings): void {
  const creates = new Map<string, Pending>()
  for (const one of told) {
    const { received } = one
    const place = placeOf(received, world)
    if (place === null) continue
    if (received.method === 'GET') {
      for (const key of creates.keys()) if (key.startsWith(place)) creates.delete(key)
      continue
    }
    const key = `${place} ${keyOf(received)}`
    const before = creates.get(key)
    findings.check('8', before === undefined || before.wasAnswered, () => {
      const { index, method, path } = received
      const what = `request ${index} (${method} ${path}) repeats ${before?.index}`
      return `${what}, which nobody answered, without a look`
    })
    if (isRefused(one)) continue
    creates.set(key, { index: received.index, wasAnswered: !isUnheard(one) })
  }
}

/** The thread or commit whose list would show it; null for what is of no concern here. */
function placeOf({ method, path }: ReceivedRequest, world: World): string | null {
  const [, repo = '', below = ''] =
    /^\/(repos\/[^/]+\/[^/]+|repositories\/\d+)\/(.*)$/.exec(path) ?? []
  const named = /^repos\/(.*)$/.exec(repo)?.[1]
  const [, id] = repo.split('/')
  const place = named === undefined ? id : String(repositoryId(world, named))
  const list = /^(issues\/\d+\/comments|pulls\/\d+\/reviews|check-runs)$/.exec(below)?.[1]
  const status = /^(?:statuses|commits)\/([0-9a-f]+)(\/statuses|\/check-runs)?$/.exec(below)
  if (method === 'POST' && list !== undefined) return `${place} ${list}`
  if (method === 'GET' && list !== undefined) return `${place} ${list}`
  if (method === 'GET' && status?.[2] === '/check-runs') return `${place} check-runs`
  const isStatus = method === 'POST' ? below.startsWith('statuses/') : status?.[2] === '/statuses'
  return isStatus && status !== null ? `${place} ${status[1]} statuses` : null
}

function repositoryId(world: World, name: string): number | null {
  try {
    return world.github.repository(name).id
  } catch {
    return null
  }
}

/** What is said there, by what its looks know it by. */
function keyOf({ body }: ReceivedRequest): string {
  const given = (body ?? {}) as Readonly<Record<string, string>>
  const marker = /<!-- holdfast:1 \S+ (\S+) /.exec(given['body'] ?? '')?.[1]
  return marker ?? given['external_id'] ?? given['context'] ?? ''
}

function isRefused({ received }: Told): boolean {
  return received.status !== null && received.status >= 300 && received.status < 500
}

/** No answer came, or none that says anything. */
function isUnheard({ received, sent }: Told): boolean {
  const status = sent.heard?.response.status ?? 500
  return status >= 500 || received.fault === 'broken-json'
}

/** The body may have come too late, too. */
const isDoubtful = (one: Told): boolean => isUnheard(one) || one.received.fault === 'slow-body'

/** Two equal statuses in a row are one too many, unless an answer was missing. */
export function checkRepeats(facts: Facts, world: World, findings: Findings): void {
  const doubtful = new Set<string>()
  for (const received of world.github.requests) {
    const sent = world.sent.get(received.headers['x-request-id'] ?? '')
    if (sent !== undefined && !isDoubtful({ received, sent })) continue
    doubtful.add(`${received.path.split('/').at(-1)} ${keyOf(received)}`)
  }
  // A node that died after it had noted the attempt may have sent nothing: nobody can know.
  const inDoubt = new Set(
    facts.attempts
      .filter(({ outcome, late }) => outcome === 'in_doubt' || late === 1)
      .map((attempt) => attempt.delivery_id),
  )
  for (const delivery of facts.deliveries) {
    if (delivery.channel !== 'github-status' || inDoubt.has(delivery.id)) continue
    const { context } = JSON.parse(delivery.content) as { context: string }
    if (doubtful.has(`${delivery.sha} ${context}`)) continue
    const all = world.github.statuses(repoOf(delivery, facts), delivery.sha ?? '', context)
    all.forEach((status, at) => {
      const before = all[at - 1]
      const isSame = before?.state === status.state && before.description === status.description
      findings.check('8b', !isSame, () => {
        return `${status.state} is said twice as ${context} of ${delivery.sha}: ${status.id}`
      })
    })
  }
}

function checkLimits(told: readonly Told[], findings: Findings): void {
  const limits = told.flatMap((one) => {
    const until = limitOf(one)
    const heardAt = one.sent.heard?.at ?? 0
    const fell = one.sent.node.troubles.some((at) => at >= heardAt && at < heardAt + graceMs)
    return until === null || fell || !isPublishing(one) ? [] : [{ one, from: heardAt, until }]
  })
  for (const { one, from, until } of limits) {
    for (const other of told) {
      const { decidedAt } = other.sent
      if (decidedAt < from + graceMs || decidedAt > until - 1000 || !isPublishing(other)) continue
      findings.check('8c', false, () => {
        const { index, method, path } = other.received
        const what = `request ${index} (${method} ${path})`
        return `${what} left while request ${one.received.index} was told to wait`
      })
    }
    findings.check('8c', true, () => '')
  }
}

/** What intake asks (a role, a head) is not the publisher's budget. */
const isPublishing = ({ received }: Told): boolean =>
  /\/(comments|statuses|check-runs|reviews|labels)\b/.test(received.path)

function limitOf({ sent }: Told): number | null {
  if (sent.heard === null) return null
  const { status, headers } = sent.heard.response
  if (status !== 403 && status !== 429) return null
  const after = headers.get('retry-after')
  if (after !== null) return sent.heard.at + Number(after) * 1000
  if (headers.get('x-ratelimit-remaining') !== '0') return null
  const theirNow = Date.parse(headers.get('date') ?? '')
  return sent.heard.at + Number(headers.get('x-ratelimit-reset')) * 1000 - theirNow
}
