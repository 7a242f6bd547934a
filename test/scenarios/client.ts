/** A caller of the HTTP API with one token, which uses the names of the JSON. */
import { createHash } from 'node:crypto'

export interface RunJson {
  readonly id: string
  readonly key: string
  readonly state: string
  readonly attempt: number
  readonly round: number
  readonly fence: number
  readonly superseded_by: string | null
  readonly started_at: string | null
  readonly summary: string | null
  readonly result: unknown
  readonly error: { readonly code: string } | null
  readonly previous: { readonly run_id: string; readonly head_sha: string } | null
}

/** Every field that any answer of the run endpoints has. */
export interface Body extends RunJson {
  readonly should_process: boolean
  readonly reason: string
  readonly run_key: string
  readonly superseded_run_keys: readonly string[]
  readonly run: RunJson
  readonly lease: { readonly token: string; readonly expires_at: string }
  readonly run_token: string
  readonly expires_at: string
  readonly code: string
  readonly hint: string
  readonly title: string
  readonly detail: string
  readonly request_id: string
  readonly token: string
  readonly items: readonly (RunJson & { readonly type: string })[]
  readonly next_cursor: string | null
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
  readonly text: string
}

export class Client {
  readonly #url: string
  readonly #token: string | null

  constructor(url: string, token: string | null) {
    this.#url = url
    this.#token = token
  }

  async call(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const answer = await fetch(this.#url + path, {
      method,
      headers: {
        ...(this.#token !== null && { authorization: `Bearer ${this.#token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const parsed = (text === '' ? null : JSON.parse(text)) as Body
    return { status: answer.status, headers: answer.headers, body: parsed, text }
  }

  get(path: string): Promise<Answer> {
    return this.call('GET', path)
  }

  post(path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('POST', path, body, headers)
  }

  claim(body: object): Promise<Answer> {
    return this.post('/v1/runs', body)
  }

  complete(held: Body, outcome = 'succeeded', over: object = {}): Promise<Answer> {
    const body = { lease_token: held.lease.token, outcome, ...over }
    return this.post(`/v1/runs/${held.run.id}/complete`, body)
  }

  heartbeat(held: Body, over: object = {}): Promise<Answer> {
    const body = { lease_token: held.lease.token, ...over }
    return this.post(`/v1/runs/${held.run.id}/heartbeat`, body)
  }

  async run(id: string): Promise<RunJson> {
    return (await this.get(`/v1/runs/${id}`)).body
  }
}

export const sha = (text: string): string => createHash('sha1').update(text).digest('hex')

let pullRequests = 0

/** A new pull request. Returns claims of its heads by short names. */
export function newPullRequest(): (head: string, over?: object) => object {
  pullRequests += 1
  const pr = pullRequests
  return (head, over = {}) => ({
    repo: 'acme/widgets',
    pr,
    base_sha: sha('main'),
    head_sha: sha(head),
    ...over,
  })
}

/** Times as GitHub gives them: whole seconds, all in the past. */
export const at = (seconds: number): string =>
  new Date(Date.UTC(2024, 0, 1, 0, 0, seconds)).toISOString()
