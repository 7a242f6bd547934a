/** Builds an answer: the headers that every answer has, and the body of a refusal. */
import { docsUrl, type Refusal } from './refusal.ts'
import type { GitHubAnswer } from './request.ts'
import type { Reply, Route } from './routes/route.ts'
import type { World } from './state/world.ts'

export function answerOf(
  world: World,
  reply: Reply,
  limits: Readonly<Record<string, string>>,
): GitHubAnswer {
  const body = reply.body === undefined ? '' : JSON.stringify(reply.body)
  return {
    status: reply.status,
    headers: {
      date: new Date(world.githubNowMs()).toUTCString(),
      'x-github-request-id': requestId(world),
      'x-github-media-type': 'github.v3; format=json',
      ...(body !== '' && { 'content-type': 'application/json; charset=utf-8' }),
      ...limits,
      ...reply.headers,
    },
    body,
  }
}

/** A refusal without a documentation page gets the route's page; null means no page at all. */
export function replyOf({ status, body, headers }: Refusal, route: Route | null): Reply {
  const { documentation_url: given, ...fields } = body
  const routePage = route === null ? docsUrl : `${docsUrl}/${route.docs}`
  const page = given === undefined ? routePage : given
  return {
    status,
    body: {
      ...fields,
      ...(page !== null && { documentation_url: page }),
      ...(status >= 400 && { status: String(status) }),
    },
    headers,
  }
}

function requestId(world: World): string {
  const hex = world.random.bytes(12).toString('hex').toUpperCase()
  return `${hex.slice(0, 4)}:${hex.slice(4, 10)}:${hex.slice(10, 17)}:${hex.slice(17)}`
}
