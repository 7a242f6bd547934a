/**
 * GitHub's lists, page by page: the webhooks that it sent, and the pull requests of a repository.
 */
import { z } from 'zod'
import type { GitHubListings, ListedPull } from '../github.ts'
import type { Ask } from './ask.ts'
import { isGitHubError } from './errors.ts'
import type { OnRenamed } from './repository-place.ts'
import { askInRepository } from './repository-place.ts'

/** GitHub gives at most this many. */
const perPage = 100

const timeForm = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))

export const deliveryForm = z
  .object({
    id: z.number(),
    guid: z.string().min(1),
    delivered_at: timeForm,
    event: z.string(),
    action: z.string().nullable(),
    status_code: z.number().nullish(),
  })
  .transform(({ delivered_at: deliveredAt, status_code: answered, ...item }) => ({
    ...item,
    deliveredAt,
    answered: answered ?? null,
  }))

const sentForm = z.object({
  request: z.object({
    headers: z.record(z.string(), z.unknown()).nullable(),
    payload: z.record(z.string(), z.unknown()).nullable(),
  }),
})

const pullForm = z
  .looseObject({
    number: z.number(),
    state: z.enum(['open', 'closed']),
    head: z.looseObject({ sha: z.string().min(1) }),
    updated_at: z.string(),
  })
  .transform((whole, context): ListedPull => {
    const updatedAt = Date.parse(whole.updated_at)
    if (Number.isNaN(updatedAt)) {
      context.issues.push({ code: 'custom', message: 'no time', input: whole.updated_at })
      return z.NEVER
    }
    const { number, state, head } = whole
    return { number, state, headSha: head.sha.toLowerCase(), updatedAt, whole }
  })

export function hookListings(
  ask: Ask,
  isApp: boolean,
): Pick<GitHubListings, 'hookDeliveries' | 'hookDelivery'> {
  return {
    async hookDeliveries(cursor) {
      if (!isApp) return null
      const { data, headers } = await ask(
        'app',
        z.array(deliveryForm),
        'GET /app/hook/deliveries',
        { per_page: perPage, ...(cursor !== null && { cursor }) },
      )
      return { items: data, nextCursor: nextCursorIn(headers['link']) }
    },
    async hookDelivery(id) {
      try {
        const route = 'GET /app/hook/deliveries/{delivery_id}'
        const { data } = await ask('app', sentForm, route, { delivery_id: id })
        const { headers, payload } = data.request
        return payload === null ? null : { headers: textsOf(headers ?? {}), payload }
      } catch (error) {
        if (isGitHubError(error, 'not_found', 'gone')) return null
        throw error
      }
    },
  }
}

export function pullListings(
  ask: Ask,
  onRenamed?: OnRenamed,
): Pick<GitHubListings, 'pulls' | 'pull'> {
  return {
    pulls: (repository, page) =>
      askInRepository(
        ask,
        repository,
        async (at) => {
          const { data, headers } = await ask(
            at.actor,
            z.array(pullForm),
            at.route('GET /repos/{owner}/{repo}/pulls'),
            { ...at.parameters, page, per_page: perPage, ...lastChangedFirst },
          )
          return { items: data, more: relNext.test(String(headers['link'] ?? '')) }
        },
        onRenamed,
      ),
    pull: (repository, number) =>
      askInRepository(
        ask,
        repository,
        async (at) => {
          const route = at.route('GET /repos/{owner}/{repo}/pulls/{pull_number}')
          try {
            const parameters = { ...at.parameters, pull_number: number }
            return (await ask(at.actor, pullForm, route, parameters)).data
          } catch (error) {
            if (isGitHubError(error, 'not_found', 'gone')) return null
            throw error
          }
        },
        onRenamed,
      ),
  }
}

const lastChangedFirst = { state: 'all', sort: 'updated', direction: 'desc' } as const
const relNext = /<([^>]*)>;\s*rel="next"/

function nextCursorIn(link: string | number | undefined): string | null {
  const next = relNext.exec(String(link ?? ''))?.[1]
  return next !== undefined && URL.canParse(next) ? new URL(next).searchParams.get('cursor') : null
}

function textsOf(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts = Object.entries(headers).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), value as string]))
}
