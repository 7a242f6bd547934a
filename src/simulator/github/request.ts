/**
 * A request as it arrived and what is answered, the same for every connection; and the record of
 * it that tests and checkers read.
 */
export interface GitHubRequest {
  readonly method: string
  /** Up to the API's own path, such as `http://127.0.0.1:3000`: links in answers start with it. */
  readonly apiUrl: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** By lower-cased name. */
  readonly headers: Readonly<Record<string, string>>
  /** Empty when there was none. */
  readonly body: string
}

export interface GitHubAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface ReceivedRequest {
  /** Its place in the order of arrival, from 0. */
  readonly index: number
  /** By the simulator's clock. */
  readonly at: number
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /**
   * As GitHub's description names it, `POST /repos/{owner}/{repo}/statuses/{sha}`; the same for a
   * path under `/repositories/{id}`. Null for a path that leads nowhere.
   */
  readonly route: string | null
  /** Without the credentials. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed where it is JSON, else the text; null when there was none. */
  readonly body: unknown
  /** Login of the account, `app` for the App itself, null for a stranger. */
  readonly identity: string | null
  /** What it was answered or would have been; null while it is held, or when it got no further. */
  readonly status: number | null
  /** It changed the state of things. */
  readonly effect: boolean
  /** When it took effect, or was refused. */
  readonly doneAt: number | null
  /** Name of the fault that was played on it. */
  readonly fault: string | null
}

/** `https://host/api/v3/…`, as on GitHub's server for enterprises, leads to the same API. */
const apiPrefix = /^\/api\/v3(?=\/|$)/

export function readUrl(url: URL): Pick<GitHubRequest, 'apiUrl' | 'path' | 'query'> {
  const prefix = apiPrefix.exec(url.pathname)?.[0] ?? ''
  return {
    apiUrl: url.origin + prefix,
    path: url.pathname.slice(prefix.length),
    query: url.searchParams,
  }
}
