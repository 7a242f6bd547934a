/** A request and its answer, the same for every connection; and the record that tests read. */
export interface GitHubRequest {
  readonly method: string
  /** The address of the API, such as `http://127.0.0.1:3000`: links in answers start with it. */
  readonly apiUrl: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** By lower-cased name. */
  readonly headers: Readonly<Record<string, string>>
  /** Empty when the request had none. */
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
   * As in GitHub's API description, `POST /repos/{owner}/{repo}/statuses/{sha}`; the same for a
   * path under `/repositories/{id}`. Null for an unknown path.
   */
  readonly route: string | null
  /** Without the credentials. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed where it is JSON, else the text; null when there was none. */
  readonly body: unknown
  /** Login of the account, `app` for the App itself, null for a stranger. */
  readonly identity: string | null
  /** The status GitHub answered, also if the answer was lost; null if GitHub never handled it. */
  readonly status: number | null
  /** It changed something. */
  readonly effect: boolean
  /** When it took effect, or was refused. */
  readonly doneAt: number | null
  /** Name of the fault that hit it. */
  readonly fault: string | null
}

/** `https://host/api/v3/…`, as on GitHub Enterprise Server, leads to the same API. */
const apiPrefix = /^\/api\/v3(?=\/|$)/

export function readUrl(url: URL): Pick<GitHubRequest, 'apiUrl' | 'path' | 'query'> {
  const prefix = apiPrefix.exec(url.pathname)?.[0] ?? ''
  return {
    apiUrl: url.origin + prefix,
    path: url.pathname.slice(prefix.length),
    query: url.searchParams,
  }
}
