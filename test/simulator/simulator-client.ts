/**
 * A small client of a simulated GitHub that has one pull request, over one of its two connections.
 */
import { createGitHubSimulator, serveSimulator } from '../../src/simulator/index.ts'
import type { GitHubSimulator, GitHubSimulatorOptions } from '../../src/simulator/index.ts'
import { createVirtualTime, type VirtualTime } from './virtual-time.ts'

export const repo = 'acme/widgets'
export const headSha = 'a'.repeat(40)
export const baseSha = 'b'.repeat(40)
export const number = 5
export const thread = `/repos/${repo}/issues/${number}`
export const createComment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'

export interface ParsedAnswer {
  readonly status: number
  readonly headers: Headers
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the assertions are the check.
  readonly data: any
}

export interface RequestOptions {
  readonly body?: unknown
  /** Null for no token. */
  readonly token?: string | null
  readonly signal?: AbortSignal
}

export interface SimulatorClient {
  readonly github: GitHubSimulator
  readonly time: VirtualTime
  readonly url: string
  /** `request('GET /user')`; reads the JSON body. */
  readonly request: (call: string, options?: RequestOptions) => Promise<ParsedAnswer>
  /** The same, but returns the response with its body unread. */
  readonly fetch: (call: string, options?: RequestOptions) => Promise<Response>
  close(): Promise<void>
}

export type Connection = 'in the process' | 'over HTTP'
export const bothConnections: readonly Connection[] = ['in the process', 'over HTTP']

export async function startSimulatorClient(
  options: GitHubSimulatorOptions = {},
  way: Connection = 'in the process',
): Promise<SimulatorClient> {
  const time = createVirtualTime()
  const { clock, scheduler } = time
  const github = createGitHubSimulator({ clock, scheduler, ...options })
  github.addRepository(repo)
  github.addPull(repo, { number, headSha, baseSha, author: 'octocat' })
  const served = way === 'over HTTP' ? await serveSimulator(github) : null
  const connection = served === null ? github.fetch : fetch
  const url = served?.url ?? 'https://api.github.com'

  const send: SimulatorClient['fetch'] = (call, { body, token = 'ghp_any', signal } = {}) => {
    const [method = '', path = ''] = call.split(' ')
    return connection(url + path, {
      method,
      redirect: 'manual',
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      ...(signal !== undefined && { signal }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }
  return {
    github,
    time,
    url,
    fetch: send,
    request: async (call, requested) => {
      const response = await send(call, requested)
      const text = await response.text()
      const { status, headers } = response
      return { status, headers, data: text === '' ? null : (JSON.parse(text) as unknown) }
    },
    close: async () => served?.close(),
  }
}
