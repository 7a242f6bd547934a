/**
 * Goal: the product's own GitHub client works with the simulated GitHub, with both kinds of
 * credentials, over both connections.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { GitHubSimulatorOptions } from '../../src/simulator/index.ts'
import {
  appCredentials,
  appKeyPem,
  clientOf,
  rejectionOf,
  theToken,
  named,
} from '../github/github-under-test.ts'
import {
  bothConnections,
  headSha,
  number,
  repo,
  startSimulatorClient,
  type SimulatorClient,
  type Connection,
} from './simulator-client.ts'

let client: SimulatorClient
afterEach(() => client.close())

const app = { id: 12, slug: 'holdfast', privateKey: appKeyPem }
const post = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'

async function start(way: Connection, options: GitHubSimulatorOptions, credentials: object) {
  client = await startSimulatorClient(options, way)
  const { url } = client
  const connection = way === 'over HTTP' ? {} : { fetch: client.github.fetch }
  return clientOf(url, { ...connection, ...credentials }).github
}

describe.each(bothConnections)('our client %s', (way) => {
  it('acts as an account', async () => {
    const github = await start(way, { tokens: [{ token: theToken, login: 'our-bot' }] }, {})
    expect(await github.ownAccount()).toMatchObject({ login: 'our-bot', kind: 'user' })
    client.github.setRole(repo, 'octocat', 'maintain')
    expect(await github.roleOf(named(repo), 'octocat')).toBe('maintain')
    expect(await github.roleOf(named(repo), 'nobody')).toBe('no-such-user')
    expect(await github.headOf(named(repo), number)).toMatchObject({ headSha })
    expect(await github.headOf(named(repo), 99)).toBeNull()
  })

  it('acts as an App, and finds a repository that was renamed', async () => {
    const github = await start(way, { app }, { credentials: appCredentials })
    expect(await github.ownAccount()).toMatchObject({ login: 'holdfast', appId: 12, kind: 'app' })
    const { id } = client.github.repository(repo)
    client.github.rename(repo, 'acme/gadgets')
    expect(await github.headOf(named(repo), number)).toMatchObject({ headSha })
    const byId = { repo, repoGithubId: id }
    expect(await github.headOf(byId, number)).toMatchObject({ headSha })
    expect(await github.roleOf(byId, 'nobody')).toBe('no-such-user')
  })

  it('mints a new token when the old one is refused, and writes once', async () => {
    const github = await start(way, { app }, { credentials: appCredentials })
    const repository = { repo, repoGithubId: client.github.repository(repo).id }
    const write = () =>
      github.call(
        repository,
        z.object({ id: z.number() }),
        post,
        {
          issue_number: number,
          body: 'hello',
        },
        Infinity,
      )
    await write()
    client.github.expireTokens()
    await write()
    expect(client.github.comments(repo, number).map(({ author }) => author)).toEqual([
      'holdfast[bot]',
      'holdfast[bot]',
    ])
    const { faults } = client.github
    faults.add({ on: { route: post }, fault: faults.lostAnswer() })
    expect(await rejectionOf(write())).toMatchObject({ kind: 'unanswered' })
    expect(client.github.comments(repo, number)).toHaveLength(3)
  })
})
