/** A list of GitHub's, page after page as they are asked for, until there is no next one. */
import type { z } from 'zod'
import type { SendBy } from '../channel.ts'
import type { GitHubCalls, RepositoryRef } from '../github.ts'

const perPage = 100

export async function* eachPage<T>(
  github: GitHubCalls,
  repository: RepositoryRef,
  form: z.ZodType<T>,
  route: string,
  parameters: Readonly<Record<string, unknown>>,
  sendBy: SendBy,
): AsyncGenerator<T> {
  for (let page = 1; ; page += 1) {
    const asked = { ...parameters, per_page: perPage, page }
    const { data, headers } = await github.call(repository, form, route, asked, sendBy)
    yield data
    // Not by the number of entries: what we may not see is missing from a page that has a next.
    if (!/\brel="next"/.test(String(headers['link'] ?? ''))) return
  }
}
