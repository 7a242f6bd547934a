/**
 * Goal: what a caller says about a repository's id is accepted where GitHub has said nothing. It
 * merges no repositories, changes nothing that GitHub said, and is replaced by what GitHub says.
 */
import { expect, it } from 'vitest'
import type { HeardAt } from '../../../src/domain/repository-names.ts'
import { reachesRepository } from '../../../src/domain/token-limits.ts'
import { pullRequestClaim, unique } from '../claims.ts'
import { announced } from '../outbox/manual-publisher.ts'
import { useWorld, type OpenStore } from '../world.ts'

let ids = 900_000
const page = { limit: 10, cursor: null }

export function unverifiedNames(open: OpenStore): void {
  const world = useWorld(open)

  const learn = (name: string, id: number, at: HeardAt) =>
    world().store.repositories.learn(name, id, at, 'github')
  const learnUnverified = (name: string, id: number, at: number | null) =>
    world().store.repositories.learnUnverified(name, id, at, 'token:caller')
  const githubIdOf = async (name: string) =>
    (await world().store.repositories.getByName(name))?.githubId
  const knowledge = (name: string, id: number) => world().store.repositories.nameKnowledge(name, id)
  const claim = (repo: string, head: string, repoId: number | null = null) =>
    world().store.runs.claim(pullRequestClaim({ repo, pr: 5, head }, { repoId }), null)

  /** A repository whose name and id GitHub has confirmed. */
  async function knownRepository() {
    const [name, id, at] = [unique('acme/known'), ++ids, world().store.now() - 3_600_000]
    await learn(name, id, at)
    return { name, id, at }
  }

  it('an id that is otherwise unknown is accepted', async () => {
    const [name, id] = [unique('acme/told'), ++ids]
    expect(await learnUnverified(name, id, null)).toBe('known')
    expect(await githubIdOf(name)).toBe(id)
    expect(await learnUnverified(name, id, world().store.now())).toBe('known')
    expect(await githubIdOf(name)).toBe(id)
    // GitHub has not confirmed it.
    expect(await knowledge(name, id)).toBe('open')
    await learn(name, id, null)
    expect(await knowledge(name, id)).toBe('known')
  })

  it('another id for a name that GitHub has named is never stored', async () => {
    const { name, id, at } = await knownRepository()
    for (const when of [null, at - 1000, at - 120_000, world().store.now()]) {
      const other = ++ids
      expect(await learnUnverified(name, other, when)).toEqual({ anothers: id })
      expect(await knowledge(name, other)).toEqual({ anothers: id })
      expect(await githubIdOf(name)).toBe(id)
    }
  })

  it('the id of another known repository is never stored', async () => {
    const [{ name, id }, other] = [await knownRepository(), await knownRepository()]
    for (const when of [null, world().store.now()]) {
      expect(await learnUnverified(name, other.id, when)).toEqual({ anothers: id })
    }
    expect([await githubIdOf(name), await githubIdOf(other.name)]).toEqual([id, other.id])
  })

  it('gives no new name to a repository that GitHub has named', async () => {
    const { name, id } = await knownRepository()
    const invented = unique('evil/new')
    expect(await learnUnverified(invented, id, world().store.now())).toBe('open')
    expect(await githubIdOf(invented)).toBeUndefined()
    expect((await world().store.repositories.getByName(name))?.name).toBe(name)
  })

  it('does not bring back a name that a repository had before', async () => {
    const { name, id, at } = await knownRepository()
    const moved = unique('corp/moved')
    await learn(moved, id, at + 60_000)
    expect(await learnUnverified(name, id, world().store.now())).toBe('known')
    expect((await world().store.repositories.getByName(name))?.name).toBe(moved)
  })

  it('does not merge with what is claimed by a name alone', async () => {
    const { store } = world()
    const alone = unique('acme/alone')
    const early = await claim(alone, 'a')
    const other = await knownRepository()
    const victim = await claim(other.name, 'b', other.id)
    const unverified = { name: unique('acme/told'), id: ++ids }
    await learnUnverified(unverified.name, unverified.id, null)
    for (const id of [other.id, unverified.id, ++ids]) {
      for (const when of [null, store.now()])
        expect(await learnUnverified(alone, id, when)).toBe('open')
    }
    expect(await githubIdOf(alone)).toBeNull()
    for (const { run } of [early, victim]) {
      expect(await store.runs.get(run!.id)).toMatchObject({ state: 'running' })
    }
  })

  it('moves no token from the repository that it is limited to', async () => {
    const { store } = world()
    const [alone, other] = [unique('acme/alone'), await knownRepository()]
    const limited = { scope: 'worker', name: 'a', userId: null, repos: [alone], actor: 'admin' }
    const { token } = await store.tokens.create({ ...limited, secret: unique('secret') }, null)
    await claim(alone, 'a')
    await learnUnverified(alone, other.id, store.now())
    const limits = (await store.tokens.get(token.id))!.limits
    expect(reachesRepository(limits, await store.repositories.getByName(other.name))).toBe(false)
    expect(reachesRepository(limits, await store.repositories.getByName(alone))).toBe(true)
  })

  it('a caller may report a rename of what only callers have named', async () => {
    const [before, after, id, t] = [unique('acme/a'), unique('acme/b'), ++ids, world().store.now()]
    await learnUnverified(before, id, t - 60_000)
    const first = await claim(before, 'a', id)
    expect(await learnUnverified(after, id, t)).toBe('known')
    expect(await claim(after, 'a', id)).toMatchObject({ run: { id: first.run!.id } })
    expect((await world().store.repositories.getByName(after))?.name).toBe(after)
  })

  it('is replaced by what GitHub says, although that is older', async () => {
    const [name, wrong, right, t] = [unique('acme/name'), ++ids, ++ids, world().store.now()]
    await learnUnverified(name, wrong, t)
    await learn(name, right, t - 3_600_000)
    expect(await githubIdOf(name)).toBe(right)
    const [invented, own] = [unique('evil/new'), unique('acme/own')]
    const id = ++ids
    await learnUnverified(invented, id, t)
    await learn(own, id, t - 3_600_000)
    expect((await world().store.repositories.getByName(own))?.name).toBe(own)
    expect(await learnUnverified(name, wrong, t)).toEqual({ anothers: right })
  })

  it('the former owner of a name can still be claimed by it with its own id', async () => {
    const { store } = world()
    const { name, id, at } = await knownRepository()
    const late = { ...pullRequestClaim({ repo: name, pr: 5, head: 'a' }), repoId: id }
    await store.runs.claim(late, null)
    await learn(unique('acme/moved'), id, at + 60_000)
    const next = ++ids
    await learn(name, next, at + 120_000)
    for (const when of [null, at]) expect(await learnUnverified(name, id, when)).toBe('known')
    expect(await knowledge(name, id)).toBe('known')
    expect(await githubIdOf(name)).toBe(next)
    expect(await store.runs.claim(late, null)).toMatchObject({ reason: 'duplicate' })
  })

  it('a delivery under a name that only a caller gave is marked as such', async () => {
    const { store } = world()
    const [name, id, other] = [unique('acme/told'), ++ids, unique('acme/other')]
    await learnUnverified(name, id, null)
    const made = pullRequestClaim({ repo: name, pr: 5, head: 'a' }, { repoId: id })
    const announcing = { ...made.policy, announcement: announced }
    const { run } = await store.runs.claim({ ...made, policy: announcing }, null)
    const [delivery] = (await store.outbox.list({ runId: run!.id }, page)).items
    const place = async () => {
      const { repo, unverifiedName } = (await store.outbox.deliveryWithPlace(delivery!.id))!
      return { repo, unverifiedName }
    }
    expect(await place()).toEqual({ repo: name, unverifiedName: name })
    // What GitHub confirmed about another name says nothing about this one.
    await learn(other, id, store.now())
    expect(await place()).toEqual({ repo: other, unverifiedName: name })
    await learn(name, id, store.now())
    expect(await place()).toEqual({ repo: name, unverifiedName: null })
    await learnUnverified(name, id, store.now())
    expect(await place()).toEqual({ repo: name, unverifiedName: null })
  })

  it('what one caller said does not bind another', async () => {
    const [name, first, second] = [unique('acme/told'), ++ids, ++ids]
    await learnUnverified(name, first, null)
    await learnUnverified(name, second, null)
    await learnUnverified(name, second, world().store.now())
    expect(await githubIdOf(name)).toBe(second)
  })
}
