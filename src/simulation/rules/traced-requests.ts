/** Every request from both sides: as its node sent it and as GitHub received it. */
import type { ReceivedRequest } from '../../simulator/index.ts'
import type { SentByNode, World } from '../world.ts'

export interface TracedRequest {
  readonly received: ReceivedRequest
  readonly sent: SentByNode
}

/** In the order in which the nodes decided to send them. */
export function tracedRequests({ github, sent }: World): readonly TracedRequest[] {
  return github.requests
    .flatMap((received) => {
      const sentRequest = sent.get(received.headers['x-request-id'] ?? '')
      return sentRequest === undefined ? [] : [{ received, sent: sentRequest }]
    })
    .toSorted((a, b) => a.sent.decidedAt - b.sent.decidedAt || a.received.index - b.received.index)
}

/** Names the list that shows what this request creates or reads; null if there is no such list. */
export function listOf({ method, path, body }: ReceivedRequest, world: World): string | null {
  const [, repo = '', below = ''] =
    /^\/(repos\/[^/]+\/[^/]+|repositories\/\d+)\/(.*)$/.exec(path) ?? []
  const named = /^repos\/(.*)$/.exec(repo)?.[1]
  const [, id] = repo.split('/')
  const repositoryKey = named === undefined ? id : String(repositoryId(world, named))
  const list = /^(issues\/\d+\/comments|pulls\/\d+\/reviews|check-runs)$/.exec(below)?.[1]
  const status = /^(?:statuses|commits)\/([0-9a-f]+)(\/statuses|\/check-runs)?$/.exec(below)
  if (method === 'POST' && list === 'check-runs')
    return `${repositoryKey} ${headOf(body)} check-runs`
  if (method === 'POST' && list !== undefined) return `${repositoryKey} ${list}`
  if (method === 'GET' && list !== undefined) return `${repositoryKey} ${list}`
  if (method === 'GET' && status?.[2] === '/check-runs')
    return `${repositoryKey} ${status[1]} check-runs`
  const isStatus = method === 'POST' ? below.startsWith('statuses/') : status?.[2] === '/statuses'
  return isStatus && status !== null ? `${repositoryKey} ${status[1]} statuses` : null
}

const headOf = (body: unknown): string =>
  (body as { readonly head_sha?: string } | null)?.head_sha ?? ''

function repositoryId(world: World, name: string): number | null {
  try {
    return world.github.repository(name).id
  } catch {
    return null
  }
}

/** The key by which a look recognises the content: marker, external id or status context. */
export function contentKeyOf({ body }: ReceivedRequest): string {
  const given = (body ?? {}) as Readonly<Record<string, string>>
  const marker = /<!-- holdfast:1 \S+ (\S+) /.exec(given['body'] ?? '')?.[1]
  return marker ?? given['external_id'] ?? given['context'] ?? ''
}

/** No answer arrived, or none that says what GitHub did. */
export function isUnanswered({ received, sent }: TracedRequest): boolean {
  const status = sent.answer?.response.status ?? 500
  return status >= 500 || received.fault === 'broken-json'
}
