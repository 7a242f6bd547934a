/**
 * The GitHub client of a run: Octokit, with the methods of GitHub's REST API and pages. Octokit is
 * loaded with the first client, so a program without handlers does not pay for it.
 *
 * What must hold: after the run was lost, every request rejects with the reason of the loss. There
 * is no retry and no waiting below the caller. Octokit never gets a token, so no error of it can
 * show one.
 */
import type { Octokit } from '@octokit/core'
import type { PaginateInterface } from '@octokit/plugin-paginate-rest'
import type { RequestError as OctokitRequestError } from '@octokit/request-error'
import type { Api } from '@octokit/plugin-rest-endpoint-methods'
import { createRunFetch, type RunFetchOptions } from './run-fetch.ts'

/** Octokit for the repository of a run: `request`, `rest`, `paginate` and `graphql`. */
export type RunGitHub = Octokit & Api & { readonly paginate: PaginateInterface }

export type RunClientOptions = RunFetchOptions

const say = (): void => undefined
const silent = { debug: say, info: say, warn: say, error: say }

/** Makes a client at once, after Octokit was loaded. */
export type MakeRunClient = (options: RunClientOptions) => RunGitHub

export async function runClient(options: RunClientOptions): Promise<RunGitHub> {
  return (await loadRunClient())(options)
}

export async function loadRunClient(): Promise<MakeRunClient> {
  const [core, rest, pages, { RequestError }] = await Promise.all([
    import('@octokit/core'),
    import('@octokit/plugin-rest-endpoint-methods'),
    import('@octokit/plugin-paginate-rest'),
    import('@octokit/request-error'),
  ])
  const Client = core.Octokit.plugin(rest.restEndpointMethods, pages.paginateRest)
  return (options) => makeClient(Client, RequestError, options)
}

function makeClient(
  Client: new (options: object) => RunGitHub,
  RequestError: typeof OctokitRequestError,
  options: RunClientOptions,
): RunGitHub {
  const { connection, checkHeld, signal } = options
  const client = new Client({
    baseUrl: connection.apiUrl,
    log: silent,
    request: { fetch: createRunFetch(options), log: silent },
  })
  client.hook.wrap('request', async (request, asked) => {
    checkHeld()
    signal.throwIfAborted()
    try {
      const answer = await request(asked)
      // Octokit accepts a redirect as an answer, and its data would be empty.
      if (answer.status < 300 || asked.request['redirect'] === 'manual') return answer
      const { location: _secret, ...headers } = answer.headers
      const response = { ...answer, headers }
      throw new RequestError(redirectText, answer.status, { request: asked, response })
    } catch (error) {
      checkHeld()
      signal.throwIfAborted()
      throw error
    }
  })
  return client
}

const redirectText =
  'GitHub redirects this request, which run.github does not follow: it leads to another host, or ' +
  "is not a GET. If the repository was renamed, use its new name. For a download, get the file's " +
  "address with request: { redirect: 'manual' }."
