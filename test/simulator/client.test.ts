/**
 * Goal: the product's own client takes the simulated GitHub for the real one, with either kind of
 * credentials, over either connection.
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
import { bothWays, headSha, number, repo, startAsking, type Asking, type Way } from './asking.ts'

let asking: Asking
afterEach(() => asking.close())

const app = { id: 12, slug: 'holdfast', privateKey: appKeyPem }
const post = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'

async function start(way: Way, options: GitHubSimulatorOptions, credentials: object) {
  asking = await startAsking(options, way)
  const { url } = asking
  const connection = way === 'over HTTP' ? {} : { fetch: asking.github.fetch }
  return clientOf(url, { ...connection, ...credentials }).github
}

describe.each(bothWays)('our client %s', (way) => {
  it('acts as an account', async () => {
    const github = await start(way, { tokens: [{ token: theToken, login: 'our-bot' }] }, {})
    expect(await github.ownAccount()).toMatchObject({ login: 'our-bot', kind: 'user' })
    asking.github.setRole(repo, 'octocat', 'maintain')
    expect(await github.roleOf(named(repo), 'octocat')).toBe('maintain')
    expect(await github.roleOf(named(repo), 'nobody')).toBe('no-such-user')
    expect(await github.headOf(named(repo), number)).toMatchObject({ headSha })
    expect(await github.headOf(named(repo), 99)).toBeNull()
  })

  it('acts as an App, and finds a repository that was renamed', async () => {
    const github = await start(way, { app }, { credentials: appCredentials })
    expect(await github.ownAccount()).toMatchObject({ login: 'holdfast', appId: 12, kind: 'app' })
    const { id } = asking.github.repository(repo)
    asking.github.rename(repo, 'acme/gadgets')
    expect(await github.headOf(named(repo), number)).toMatchObject({ headSha })
    const byId = { repo, repoGithubId: id }
    expect(await github.headOf(byId, number)).toMatchObject({ headSha })
    expect(await github.roleOf(byId, 'nobody')).toBe('no-such-user')
  })

  it('mints a new token when the old one is refused, and writes once', async () => {
    const github = await start(way, { app }, { credentials: appCredentials })
    const repository = { repo, repoGithubId: asking.github.repository(repo).id }
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
    asking.github.expireTokens()
    await write()
    expect(asking.github.comments(repo, number).map(({ author }) => author)).toEqual([
      'holdfast[bot]',
      'holdfast[bot]',
    ])
    const { faults } = asking.github
    faults.add({ on: { route: post }, fault: faults.lostAnswer() })
    expect(await rejectionOf(write())).toMatchObject({ kind: 'unanswered' })
    expect(asking.github.comments(repo, number)).toHaveLength(3)
  })
})
