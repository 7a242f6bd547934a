/**
 * Goal: GitHub's lists are read to their end, as an App and with a token.
 * Method: the real client against the simulated GitHub over HTTP.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { appCredentials, appKeyPem, clientOf } from '../../test/github/github-under-test.ts'
import {
  createGitHubSimulator,
  sendWebhooks,
  serveSimulator,
  type GitHubSimulator,
  type ServedSimulator,
} from '../simulator/index.ts'

const name = 'acme/widgets'
const repository = { repo: name, repoGithubId: null }
const sha = (letter: string) => letter.repeat(40)

let simulated: GitHubSimulator
let served: ServedSimulator
let client: ReturnType<typeof clientOf>

beforeEach(async () => {
  const app = { id: 12, slug: 'holdfast', privateKey: appKeyPem }
  simulated = createGitHubSimulator({ app, tokens: [{ token: 'ghp_bot', login: 'bot' }] })
  simulated.addRepository(name)
  served = await serveSimulator(simulated)
  client = clientOf(served.url, { credentials: appCredentials })
  client.clock.wall = Date.now()
})
afterEach(() => served.close())

it('the client reads all pages of sent webhooks, and fetches one of them', async () => {
  const hook = sendWebhooks(simulated, {
    url: 'http://127.0.0.1:9/',
    secret: 'a secret',
    fetch: () => Promise.reject(new Error('down')),
  })
  const number = 1
  simulated.addPull(name, { number, headSha: sha('a'), baseSha: sha('b') })
  for (let i = 0; i < 204; i++) simulated.labelAs('octocat', name, 1, `label ${i}`)
  await hook.idle()
  const guids = new Set<string>()
  let cursor: string | null = null
  let pages = 0
  let oldest: { id: number; action: string | null } | undefined
  do {
    const page: Awaited<ReturnType<typeof client.github.hookDeliveries>> =
      await client.github.hookDeliveries(cursor)
    for (const { guid } of page?.items ?? []) guids.add(guid)
    oldest = page?.items.at(-1)
    cursor = page?.nextCursor ?? null
    pages += 1
  } while (cursor !== null)
  expect({ pages, guids: guids.size, first: oldest?.action }).toEqual({
    pages: 3,
    guids: 205,
    first: 'opened',
  })
  const whole = await client.github.hookDelivery(oldest?.id ?? 0)
  expect(whole?.payload).toMatchObject({ action: 'opened', pull_request: { number: 1 } })
  expect(whole?.headers).toMatchObject({ 'x-github-event': 'pull_request' })
  expect(await client.github.hookDelivery(987_654_321)).toBeNull()
})

it('the client lists open and closed pull requests, also under a new name', async () => {
  for (const number of [1, 2]) {
    simulated.addPull(name, { number, headSha: sha(String(number)), baseSha: sha('b') })
  }
  simulated.close(name, 1)
  simulated.rename(name, 'acme/gadgets')
  const withId = { ...repository, repoGithubId: simulated.repository('acme/gadgets').id }
  const { items, more } = await client.github.pulls(withId, 1)
  expect(items.map((item) => [item.number, item.state, item.headSha]).toSorted()).toEqual([
    [1, 'closed', sha('1')],
    [2, 'open', sha('2')],
  ])
  expect(more).toBe(false)
  expect(items[0]?.whole).toHaveProperty('base.repo.full_name', 'acme/gadgets')
  expect(await client.github.pull(withId, 1)).toMatchObject({ state: 'closed' })
  expect(await client.github.pull(withId, 99)).toBeNull()
})

it('with a token the client has no webhook to ask about', async () => {
  const { github } = clientOf(served.url, { credentials: { token: 'ghp_bot' } })
  expect(await github.hookDeliveries(null)).toBeNull()
})
