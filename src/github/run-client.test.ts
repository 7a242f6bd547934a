/**
 * Goal: a handler reads from GitHub with Octokit, as the run's repository and type allow, and with
 * nothing after the run was lost.
 * Method: the real client, over real HTTP, with a simulated GitHub.
 */
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  appKeyPem,
  ManualClock,
  rejectionOf,
  theToken,
} from '../../test/github/github-under-test.ts'
import {
  clientUnderTest,
  owner,
  repo,
  type ClientOptions,
  type ClientUnderTest,
  type FailedRequest,
} from '../../test/github/run-client-under-test.ts'
import type { RunClientOptions } from './run-client.ts'
import { createGitHubSimulator, serveSimulator } from '../simulator/index.ts'
import type {
  GitHubSimulator,
  GitHubSimulatorOptions,
  ServedSimulator,
} from '../simulator/index.ts'

const name = `${owner}/${repo}`
const mintRoute = 'POST /app/installations/{installation_id}/access_tokens'
const pullRoute = 'GET /repos/{owner}/{repo}/pulls/{pull_number}'
const commentRoute = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
const pull = { owner, repo, pull_number: 5 }
const comment = { owner, repo, issue_number: 5, body: 'Hello' }

let github: GitHubSimulator
let served: ServedSimulator
let client: ClientUnderTest
const opened: ServedSimulator[] = []
const app = { id: 12, slug: 'holdfast', privateKey: appKeyPem }

async function start(
  options: GitHubSimulatorOptions = { app },
  given: ClientOptions = {},
  over: Partial<RunClientOptions> = {},
): Promise<void> {
  const clock = new ManualClock()
  github = createGitHubSimulator({ clock, ...options })
  const { id } = github.addRepository(name, { private: true })
  github.addPull(name, { number: 5, headSha: 'a'.repeat(40), baseSha: 'b'.repeat(40) })
  served = await serveSimulator(github)
  opened.push(served)
  const repository = { repo: name, repoGithubId: id }
  client = await clientUnderTest(served.url, { clock, ...given }, { repository, ...over })
}

beforeEach(() => start())
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})

const failureOf = async (request: Promise<unknown>): Promise<FailedRequest> =>
  (await rejectionOf(request)) as FailedRequest

describe('a handler', () => {
  it('reads by the names of GitHub’s methods, and by routes', async () => {
    const { octokit } = client
    const { data } = await octokit.rest.pulls.get(pull)
    expect([data.number, data.head.sha]).toEqual([5, 'a'.repeat(40)])
    expect((await octokit.request(pullRoute, pull)).data).toEqual(data)
    const [, second] = github.requests.filter(({ route }) => route === pullRoute)
    expect(second).toMatchObject({ identity: 'holdfast[bot]', status: 200 })
    expect(second!.headers).toMatchObject({
      'user-agent': 'holdfast/1.2.3',
      'x-request-id': expect.stringMatching(/^req_/) as string,
    })
  })

  it('reads all pages', async () => {
    for (let count = 1; count <= 45; count++) github.commentAs('octocat', name, 5, `${count}`)
    const { octokit } = client
    const asked = { owner, repo, issue_number: 5, per_page: 20 }
    const all = await octokit.paginate(octokit.rest.issues.listComments, asked)
    expect(all.map(({ body }) => body)).toEqual(Array.from({ length: 45 }, (_, i) => `${i + 1}`))
    expect(github.count('GET /repos/{owner}/{repo}/issues/{issue_number}/comments')).toBe(3)
  })

  it('acts with one token for its repository and permissions, and no others', async () => {
    github.addRepository(`${owner}/other`, { private: true })
    const { octokit } = client
    await Promise.all([octokit.rest.pulls.get(pull), octokit.rest.pulls.get(pull)])
    const asked = github.requests.filter(({ route }) => route === mintRoute).map(({ body }) => body)
    const permissions = { contents: 'read', issues: 'read', pull_requests: 'read' }
    expect(asked).toEqual([{ repository_ids: [github.repository(name).id], permissions }])
    expect(await failureOf(octokit.rest.issues.createComment(comment))).toMatchObject({
      name: 'HttpError',
      status: 403,
    })
    const elsewhere = octokit.rest.repos.get({ owner, repo: 'other' })
    expect(await failureOf(elsewhere)).toMatchObject({ status: 404 })
    expect(github.comments(name, 5)).toEqual([])
  })

  it('gets a new token before the old one ends', async () => {
    const { octokit, clock } = client
    await octokit.rest.pulls.get(pull)
    clock.pass(55 * 60_000 - 1)
    await octokit.rest.pulls.get(pull)
    expect(github.count(mintRoute)).toBe(1)
    clock.pass(1)
    await octokit.rest.pulls.get(pull)
    expect(github.count(mintRoute)).toBe(2)
  })

  it('acts as the account whose token the server has, if there is no App', async () => {
    const tokens = [{ token: theToken, login: 'our-bot' }]
    await start({ tokens }, { credentials: { token: theToken } })
    github.setRole(name, 'our-bot', 'write')
    const { data } = await client.octokit.rest.issues.createComment(comment)
    expect(data.user?.login).toBe('our-bot')
  })

  it('learns why there is no token', async () => {
    await start({ app }, {}, { permissions: { contents: 'write' } })
    const refused = await failureOf(client.octokit.rest.pulls.get(pull))
    expect(refused).toMatchObject({ name: 'HttpError', status: 403 })
    expect(refused.message).toContain(`GitHub gives no token for ${name} with contents: write.`)
    github.uninstallApp(owner)
    const again = await failureOf((await clientUnderTest(served.url)).octokit.rest.pulls.get(pull))
    expect(again).toMatchObject({ status: 403 })
    expect(again.message).toContain('not installed')
  })
})

describe('a run that is lost', () => {
  it('asks not even for a token', async () => {
    const loss = client.held.lose()
    expect(await rejectionOf(client.octokit.rest.pulls.get(pull))).toBe(loss)
    expect(github.requests).toEqual([])
  })

  it('asks nothing any more', async () => {
    await client.octokit.rest.pulls.get(pull)
    const before = github.requests.length
    const loss = client.held.lose()
    const { octokit } = client
    expect(await rejectionOf(octokit.rest.pulls.get(pull))).toBe(loss)
    expect(await rejectionOf(octokit.request(pullRoute, pull))).toBe(loss)
    expect(await rejectionOf(octokit.paginate(octokit.rest.pulls.list, pull))).toBe(loss)
    expect(await rejectionOf(octokit.graphql('{ viewer { login } }'))).toBe(loss)
    expect(github.requests.length).toBe(before)
  })

  it('sends nothing if that is only known from its clock', async () => {
    await client.octokit.rest.pulls.get(pull)
    const before = github.requests.length
    // The process was stopped for longer than its lease, and nothing has told it.
    client.held.isLive = false
    await expect(client.octokit.rest.pulls.get(pull)).rejects.toMatchObject({ code: 'superseded' })
    expect(github.requests.length).toBe(before)
  })

  it('while its token is made does not wait for it, and sends nothing', async () => {
    const { faults } = github
    faults.add({ on: { route: mintRoute }, fault: faults.hang() })
    const waiting = rejectionOf(client.octokit.rest.pulls.get(pull))
    await arrived(mintRoute)
    const loss = client.held.lose()
    expect(await waiting).toBe(loss)
    expect(github.count(pullRoute)).toBe(0)
  })

  it('aborts the request on its way', async () => {
    const { faults } = github
    faults.add({ on: { route: pullRoute }, fault: faults.hang() })
    const waiting = rejectionOf(client.octokit.rest.pulls.get(pull))
    await arrived(pullRoute)
    const loss = client.held.lose()
    expect(await waiting).toBe(loss)
  })

  it('or only stopped, aborts it with the reason', async () => {
    const { faults } = github
    faults.add({ on: { route: pullRoute }, fault: faults.hang() })
    const waiting = rejectionOf(client.octokit.rest.pulls.get(pull))
    await arrived(pullRoute)
    const reason = new Error('the server stops')
    client.held.stop(reason)
    expect(await waiting).toBe(reason)
  })
})

describe('a refused token', () => {
  it('is replaced once, also for a write', async () => {
    await start({ app }, {}, { permissions: { issues: 'write' } })
    const { octokit } = client
    await octokit.rest.issues.createComment(comment)
    github.expireTokens()
    await octokit.rest.issues.createComment(comment)
    expect(github.comments(name, 5)).toHaveLength(2)
    expect(github.count(commentRoute)).toBe(3)
    const { faults } = github
    const refusal = faults.refuse(401, { message: 'Bad credentials' })
    faults.add({ on: { route: commentRoute, times: 2 }, fault: refusal })
    const failed = await failureOf(octokit.rest.issues.createComment(comment))
    expect(failed).toMatchObject({ status: 401 })
    expect(github.count(commentRoute)).toBe(5)
  })
})

describe('a limit', () => {
  it('surfaces with its status, blocks the identity, and shows no token', async () => {
    const { octokit, held, clock } = client
    await octokit.rest.pulls.get(pull)
    const { faults } = github
    faults.add({ on: { route: pullRoute }, fault: faults.tooMany({ retryAfterSeconds: 30 }) })
    const failed = await failureOf(octokit.rest.pulls.get(pull))
    expect(failed).toMatchObject({ name: 'HttpError', status: 429 })
    expect(failed.response?.headers['retry-after']).toBe('30')
    expect(failed.request.headers).not.toHaveProperty('authorization')
    const printed = inspect([failed, failed.request, client.lines, octokit], { depth: 9 })
    expect(printed).not.toMatch(/ghs_|eyJ/)
    const [[identity, until] = ['', 0]] = held.blocks
    expect(identity).toMatch(/^github:installation:\d+$/)
    expect(until - clock.wall).toBe(30_000)
  })

  it('that is known already is answered here, and GitHub is not asked', async () => {
    const { octokit, held, clock } = client
    await octokit.rest.pulls.get(pull)
    const before = github.requests.length
    held.blocks.set('github:app:12', clock.wall + 12_345)
    const failed = await failureOf(octokit.rest.pulls.get(pull))
    expect(failed).toMatchObject({ name: 'HttpError', status: 429 })
    expect(failed.response?.headers['retry-after']).toBe('13')
    expect(failed.message).toContain('wants us to wait for 13 s')
    expect(github.requests.length).toBe(before)
    held.blocks.clear()
    expect((await octokit.rest.pulls.get(pull)).status).toBe(200)
  })

  it('on making tokens is one of the App', async () => {
    const { faults } = github
    faults.add({ on: { route: mintRoute }, fault: faults.tooMany() })
    const failed = await failureOf(client.octokit.rest.pulls.get(pull))
    expect(failed).toMatchObject({ status: 429 })
    expect([...client.held.blocks.keys()]).toEqual(['github:app:12'])
  })
})

/** Resolves when GitHub has received a request on this route. */
async function arrived(route: string): Promise<void> {
  while (github.count(route) === 0) await new Promise((resolve) => setImmediate(resolve))
}
