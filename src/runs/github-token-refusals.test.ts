/**
 * Goal: whoever gets no token learns why and what to do, and a caller in a loop does not use up
 * what GitHub allows the App.
 * Method: a real store, the real client, and a simulated GitHub with faults, with one clock.
 */
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { theToken } from '../../test/github/github-under-test.ts'
import { mintRoute, repo, TokenWorld, type Hold } from '../../test/github/token-world.ts'
import { GitHubUnavailableError } from '../errors.ts'

let world: TokenWorld
let hold: Hold

async function open(options: ConstructorParameters<typeof TokenWorld>[0] = {}): Promise<void> {
  world = new TokenWorld(options)
  await world.learnRepository()
  hold = await world.hold()
}
beforeEach(() => open())
afterEach(() => world.store.close())

const issue = () => world.tokens.issue(hold)
const containing = (text: string) => expect.stringContaining(text) as string

describe('without a token to give', () => {
  it('a sandbox says so', async () => {
    await expect(world.tokensWith(null).issue(hold)).rejects.toMatchObject({
      code: 'github_token_unavailable',
      message: containing('sandbox'),
      hint: containing('GITHUB_APP_ID'),
    })
  })

  it('a server with the token of an account says so, and asks GitHub nothing', async () => {
    await open({ credentials: { token: theToken } })
    await expect(issue()).rejects.toMatchObject({
      code: 'github_token_unavailable',
      message: containing('GITHUB_TOKEN'),
      hint: containing('GITHUB_APP_ID'),
    })
    expect(world.simulator.requests).toEqual([])
  })

  it('a run without a repository is refused', async () => {
    await expect(world.tokens.issue(await world.holdJob())).rejects.toMatchObject({
      code: 'github_token_unavailable',
      message: containing('has no repository'),
    })
  })
})

describe('GitHub refuses', () => {
  it('permissions that the App does not have', async () => {
    await open({ permissions: { contents: 'write', issues: 'read' } })
    await expect(issue()).rejects.toMatchObject({
      code: 'github_refused',
      message: `GitHub gives no token for ${repo} with contents: write, issues: read.`,
      hint: containing('runs: { "review": { permissions: { … } } }'),
    })
    expect(await world.notes()).toEqual([])
  })

  it('a repository without the App', async () => {
    world.simulator.uninstallApp('acme')
    const refusal = { code: 'github_refused', message: containing('not installed') }
    await expect(issue()).rejects.toMatchObject(refusal)
  })

  it('a repository that the installation does not include', async () => {
    world.simulator.restrict(repo)
    await expect(issue()).rejects.toMatchObject({ code: 'github_refused' })
  })

  it('the key of the App', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    await open({ app: { publicKey: publicKey.export({ type: 'spki', format: 'pem' }) as string } })
    await expect(issue()).rejects.toMatchObject({
      code: 'github_refused',
      message: 'GitHub refuses the credentials of the GitHub App.',
      hint: containing('holdfast doctor'),
    })
  })

  it('at most once in ten seconds, however often the holder asks', async () => {
    await open({ permissions: { contents: 'write' } })
    const before = await issue().catch((error: unknown) => error)
    for (let time = 0; time < 20; time++) await expect(issue()).rejects.toBe(before)
    expect(world.minted).toBe(1)
    world.clock.pass(10_000)
    await expect(issue()).rejects.toMatchObject({ code: 'github_refused' })
    expect(world.minted).toBe(2)
  })
})

describe('GitHub cannot be asked', () => {
  const cannot = async (): Promise<GitHubUnavailableError> => {
    const error = await issue().catch((reason: unknown) => reason)
    if (error instanceof GitHubUnavailableError) return error
    throw new Error(`expected another error than ${String(error)}`)
  }

  it.each(['serverError', 'refused', 'lostAnswer', 'brokenJson'] as const)(
    'after %s, and the next question gets the token',
    async (name) => {
      const { faults } = world.simulator
      faults.add({ on: { route: mintRoute }, fault: faults[name]() })
      expect(await cannot()).toMatchObject({ code: 'github_unavailable', retryAfterMs: 1000 })
      expect(await world.notes()).toEqual([])
      expect((await issue()).repository.name).toBe(repo)
    },
  )

  it('while it limits the App: all nodes wait, and the caller learns how long', async () => {
    const { faults } = world.simulator
    const fault = faults.secondaryLimit({ retryAfterSeconds: 90 })
    faults.add({ on: { route: mintRoute }, fault })
    expect(await cannot()).toMatchObject({ code: 'github_limited', retryAfterMs: 90_000 })
    const blocks = await world.store.outbox.budgets()
    expect(blocks).toMatchObject([{ identity: 'github:app:12', blockedReason: 'rate_limited' }])
    const asked = world.simulator.requests.length
    world.clock.pass(30_000)
    expect(await cannot()).toMatchObject({
      retryAfterMs: 60_000,
      message: 'GitHub limits us and wants us to wait for 60 s.',
    })
    expect(world.simulator.requests.length).toBe(asked)
    world.clock.pass(60_000)
    expect((await issue()).repository.name).toBe(repo)
  })

  it('while it limits the installation, for which a token would be of no use', async () => {
    const identity = await world.github.identityOf({ repo, repoGithubId: world.githubId })
    const until = world.store.now() + 5000
    await world.store.outbox.blockIdentity(identity, until, 'rate_limited', 'publisher')
    expect(await cannot()).toMatchObject({ code: 'github_limited', retryAfterMs: 5000 })
    expect(world.minted).toBe(0)
  })

  it('by name, while it limits the installation, which is blocked then', async () => {
    world = new TokenWorld()
    hold = await world.hold()
    const { faults } = world.simulator
    faults.add({ on: { route: 'GET /repos/{owner}/{repo}' }, fault: faults.tooMany() })
    expect(await cannot()).toMatchObject({ code: 'github_limited' })
    const blocked = await world.store.outbox.budgets()
    expect(blocked.map(({ identity }) => identity)).toEqual([
      expect.stringMatching(/^github:installation:\d+$/),
    ])
  })
})
