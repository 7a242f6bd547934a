/**
 * Goal: a caller with a wrong repository id harms only itself. A caller with the right id is
 * understood, although no event told Holdfast of a rename.
 * Method: the real store, runs and publisher against the simulated GitHub, which Holdfast asks what
 * a name means.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { reachesRepository } from '../../src/domain/token-limits.ts'
import type { World, WorldOptions } from './world.ts'
import { baseSha, context, head, hour, minute, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const secret = 'corp/secret'
const named = 'GET /repos/{owner}/{repo}'
const nobodys = 999_999
const mismatch = { code: 'repo_id_mismatch' }

async function opened(options: WorldOptions = {}) {
  const here = await openWorld(options)
  world = here
  addPulls(here, repo, 6, 7)
  return { here, ownId: here.github.repository(repo).id }
}

/** Pull request n has the n-th head. */
function addPulls({ github, createdAt }: World, name: string, ...numbers: number[]): void {
  for (const number of numbers) {
    github.addPull(name, { number, headSha: head(number), baseSha, createdAt })
  }
}

/** A repository whose name and id GitHub has confirmed. */
async function addKnownRepository(here: World, name: string): Promise<number> {
  here.github.addRepository(name)
  addPulls(here, name, 5)
  const { id } = here.github.repository(name)
  await here.act(here.store.repositories.learn(name, id, here.time.wallMs(), 'github'))
  return id
}

const githubIdOf = async (here: World, name: string) =>
  (await here.act(here.store.repositories.getByName(name)))?.githubId
const stateOf = ({ github }: World, name: string, n: number) =>
  github.latestStatus(name, head(n), context)?.state

describe('the id of another repository', () => {
  it('merges no repositories, ends no run and moves no token', async () => {
    const { here } = await opened()
    const { store } = here
    const secretId = await addKnownRepository(here, secret)
    const victim = await here.claim(5, { repo: secret })
    const limited = { scope: 'worker', name: 't', userId: null, repos: [repo], actor: 'admin' }
    const { token } = await here.act(store.tokens.create({ ...limited, secret: 'x' }, null))
    await here.claim(1)
    const slip = here.claim(2, { repoId: secretId, eventAt: here.time.wallMs() })
    await expect(slip).rejects.toMatchObject(mismatch)
    expect(await here.act(store.runs.get(victim.run!.id))).toMatchObject({ state: 'running' })
    const { limits } = (await here.act(store.tokens.get(token.id)))!
    const place = await here.act(store.repositories.getByName(secret))
    expect(reachesRepository(limits, place)).toBe(false)
  })

  it('does not rename that repository, and its results are shown', async () => {
    const { here, ownId } = await opened({ app: true })
    here.startPublisher()
    await here.act(here.store.repositories.learn(repo, ownId, here.time.wallMs(), 'github'))
    const victim = await here.claim(1)
    await here.time.pass(10 * second)
    // GitHub shows no such repository, so the claim goes by its name alone.
    const slip = await here.claim(2, { repo: 'evil/new', repoId: ownId })
    expect(slip.shouldProcess).toBe(true)
    await here.complete(victim)
    await here.time.pass(hour)
    expect(stateOf(here, repo, 1)).toBe('success')
    expect((await here.act(here.store.repositories.getByName(repo)))?.name).toBe(repo)
    expect(await githubIdOf(here, 'evil/new')).toBeNull()
  })

  it('does not take a name from callers that claim by it', async () => {
    const { here, ownId } = await opened()
    here.startPublisher()
    const first = await here.claim(1)
    await here.complete(first)
    await here.time.pass(2 * minute)
    const slip = here.claim(6, { pr: 6, repoId: nobodys, eventAt: here.time.wallMs() })
    await expect(slip).rejects.toMatchObject(mismatch)
    expect(await githubIdOf(here, repo)).toBe(ownId)
    expect(await here.claim(1)).toMatchObject({ reason: 'duplicate' })
    await here.complete(await here.claim(7, { pr: 7 }))
    await here.time.pass(minute)
    expect(stateOf(here, repo, 7)).toBe('success')
  })

  it('makes nothing fail that was claimed by the name alone', async () => {
    const { here } = await opened()
    const victim = await here.claim(1)
    await expect(here.claim(6, { pr: 6, repoId: nobodys })).rejects.toMatchObject(mismatch)
    here.startPublisher()
    await here.complete(victim)
    await here.time.pass(minute)
    expect(stateOf(here, repo, 1)).toBe('success')
  })

  it('is refused at the first claim of a name, so that no later claim is misled', async () => {
    const { here } = await opened()
    await expect(here.claim(6, { pr: 6, repoId: nobodys })).rejects.toMatchObject(mismatch)
    here.startPublisher()
    await here.complete(await here.claim(1))
    await here.time.pass(minute)
    expect(stateOf(here, repo, 1)).toBe('success')
  })
})

describe('the right id', () => {
  it('is understood after two repositories swapped their names without an event', async () => {
    const { here } = await opened()
    here.startPublisher()
    const [a, b] = [
      await addKnownRepository(here, 'acme/a'),
      await addKnownRepository(here, 'acme/b'),
    ]
    await here.complete(await here.claim(5, { repo: 'acme/b' }), 'The result of b.')
    await here.time.pass(10 * minute)
    here.github.rename('acme/a', 'acme/tmp')
    here.github.rename('acme/b', 'acme/a')
    here.github.rename('acme/tmp', 'acme/b')
    const claimed = await here.claim(8, { repo: 'acme/b', repoId: a, eventAt: here.time.wallMs() })
    await here.complete(claimed, 'The result of a.')
    await here.time.pass(hour)
    const shown = (name: string) => here.github.comments(name, 5).map(({ body }) => body)
    expect(shown('acme/b')[0]).toContain('The result of a.')
    expect(shown('acme/a')[0]).toContain('The result of b.')
    await here.claim(9, { repo: 'acme/a', repoId: b })
    expect([await githubIdOf(here, 'acme/a'), await githubIdOf(here, 'acme/b')]).toEqual([b, a])
  })

  it('of a renamed repository merges what was claimed by either name', async () => {
    const { here, ownId } = await opened()
    await here.act(here.store.repositories.learn(repo, ownId, here.time.wallMs(), 'github'))
    const first = await here.claim(1)
    here.github.rename(repo, 'acme/gadgets')
    const again = await here.claim(1, { repo: 'acme/gadgets', repoId: ownId })
    expect(again).toMatchObject({ reason: 'duplicate', run: { id: first.run!.id } })
  })

  it('of a name that redirects to another repository is understood by that name', async () => {
    const { here, ownId } = await opened()
    const other = await addKnownRepository(here, 'acme/other')
    here.github.rename('acme/other', 'acme/elsewhere')
    here.github.rename(repo, 'acme/other')
    here.github.rename('acme/other', 'acme/gadgets')
    const claimed = await here.claim(1, { repo: 'acme/other', repoId: ownId })
    const subject = await here.act(here.store.runs.subject(claimed.run!.subjectId))
    expect(await here.act(here.store.repositories.get(subject!.scope))).toMatchObject({
      githubId: ownId,
    })
    expect(await githubIdOf(here, 'acme/other')).toBe(other)
  })

  it('is asked for once, and then known', async () => {
    const { here, ownId } = await opened()
    await here.claim(1, { repoId: ownId })
    await here.time.pass(hour)
    await here.claim(2, { repoId: ownId, eventAt: here.time.wallMs() })
    expect(here.github.count(named)).toBe(1)
    expect(await githubIdOf(here, repo)).toBe(ownId)
  })
})

describe('if GitHub cannot be asked', () => {
  it('a claim goes by its name alone, and is corrected when GitHub answers', async () => {
    const { here, ownId } = await opened()
    const { faults } = here.github
    faults.add({ on: { route: named, times: 100 }, fault: faults.serverError(502) })
    const first = await here.claim(1, { repoId: ownId })
    expect(first.shouldProcess).toBe(true)
    expect(await githubIdOf(here, repo)).toBeNull()
    faults.clear()
    await here.time.pass(2 * minute)
    expect(await here.claim(1, { repoId: ownId })).toMatchObject({ run: { id: first.run!.id } })
    expect(await githubIdOf(here, repo)).toBe(ownId)
  })

  it('a claim that contradicts GitHub is refused, with the advice to try again', async () => {
    const { here, ownId } = await opened()
    const { faults } = here.github
    await here.act(here.store.repositories.learn(repo, ownId, here.time.wallMs(), 'github'))
    faults.add({ on: { route: named, times: 100 }, fault: faults.serverError(502) })
    const refused = await here.claim(1, { repoId: nobodys }).catch((error: unknown) => error)
    expect(refused).toMatchObject(mismatch)
    expect((refused as { hint: string }).hint).toContain('Try again in a minute')
    expect((refused as { hint: string }).hint).not.toContain('leave')
  })

  it('because it limits us, nothing is asked', async () => {
    const { here, ownId } = await opened()
    const { outbox } = here.store
    const until = here.time.wallMs() + hour
    await here.act(outbox.blockIdentity('github:user', until, 'rate_limited', 'publisher'))
    expect(await here.claim(1, { repoId: ownId })).toMatchObject({ shouldProcess: true })
    expect(here.github.count(named)).toBe(0)
  })

  it('because we asked too much, the limit is stored for all nodes', async () => {
    const { here, ownId } = await opened()
    const { faults } = here.github
    const fault = faults.secondaryLimit({ retryAfterSeconds: 300 })
    faults.add({ on: { route: named, times: 1 }, fault })
    await here.claim(1, { repoId: ownId })
    expect(await here.act(here.store.outbox.blockedUntil('github:user'))).toBeGreaterThan(
      here.time.wallMs() + 4 * minute,
    )
  })
})

it('a wrong id in a loop costs one read a minute', async () => {
  const { here } = await opened()
  for (let n = 0; n < 20; n++) {
    await expect(here.claim(1, { repoId: nobodys - n })).rejects.toMatchObject(mismatch)
  }
  expect(here.github.count(named)).toBe(1)
  await here.time.pass(minute)
  await expect(here.claim(1, { repoId: nobodys })).rejects.toMatchObject(mismatch)
  expect(here.github.count(named)).toBe(2)
})
