/**
 * Goal: what a caller says of a repository's id is believed where GitHub has said nothing, and
 * refused where GitHub said otherwise; a rename that a caller hears of first is still a rename.
 */
import { expect, it } from 'vitest'
import type { HeardAt } from '../../src/domain/repository-names.ts'
import { pullRequestClaim, unique } from './claims.ts'
import { announced } from './outbox-hand.ts'
import { useWorld, type OpenStore } from './world.ts'

let ids = 900_000
const page = { limit: 10, cursor: null }

export function toldNames(open: OpenStore): void {
  const world = useWorld(open)

  const learn = (name: string, id: number, at: HeardAt) =>
    world().store.learnRepository(name, id, at, 'github')
  const tell = (name: string, id: number, at: number | null) =>
    world().store.tellRepository(name, id, at, 'token:caller')
  const meant = async (name: string) => (await world().store.repositoryNamed(name))?.githubId
  const refused = (name: string, own: number, told: number) => ({
    code: 'repo_id_mismatch',
    message: `repo_id ${told} is not ${name}, which is GitHub's repository ${own}`,
  })

  /** A name that GitHub has told of. */
  async function known() {
    const [name, id, at] = [unique('acme/known'), ++ids, world().store.now() - 3_600_000]
    await learn(name, id, at)
    return { name, id, at }
  }

  it('an id that nobody knows otherwise is believed', async () => {
    const [name, id] = [unique('acme/told'), ++ids]
    await tell(name, id, null)
    expect(await meant(name)).toBe(id)
    await tell(name, id, world().store.now())
    expect(await meant(name)).toBe(id)
  })

  it('another id for a name that GitHub has told of is refused, if it is not newer', async () => {
    const { name, id, at } = await known()
    for (const when of [null, at - 1000, at - 120_000]) {
      const other = ++ids
      await expect(tell(name, other, when)).rejects.toMatchObject(refused(name, id, other))
      expect(await meant(name)).toBe(id)
    }
  })

  it('the id of another known repository is refused, whenever it is told', async () => {
    const [{ name, id }, other] = [await known(), await known()]
    for (const when of [null, world().store.now()]) {
      await expect(tell(name, other.id, when)).rejects.toMatchObject(refused(name, id, other.id))
    }
    expect([await meant(name), await meant(other.name)]).toEqual([id, other.id])
  })

  it('a new owner of a name, and a new name, may be heard of by a caller first', async () => {
    const { name, id, at } = await known()
    const [renamed, next] = [unique('acme/renamed'), ++ids]
    await tell(renamed, id, at + 60_000)
    await tell(name, next, at + 120_000)
    expect([await meant(renamed), await meant(name)]).toEqual([id, next])
  })

  it('whoever had the name before is claimed by it still, late, under its own id', async () => {
    const { store } = world()
    const { name, id, at } = await known()
    const late = { ...pullRequestClaim({ repo: name, pr: 5, head: 'a' }), repoId: id }
    await store.claimRun(late, null)
    await learn(unique('acme/moved'), id, at + 60_000)
    const next = ++ids
    await learn(name, next, at + 120_000)
    for (const when of [null, at]) await tell(name, id, when)
    expect(await meant(name)).toBe(next)
    expect(await store.claimRun(late, null)).toMatchObject({ reason: 'duplicate' })
  })

  it('what is to be published under a name that only a caller told says so', async () => {
    const { store } = world()
    const [name, id, other] = [unique('acme/told'), ++ids, unique('acme/other')]
    await tell(name, id, null)
    const claim = pullRequestClaim({ repo: name, pr: 5, head: 'a' }, { repoId: id })
    const announcing = { ...claim.policy, announcement: announced }
    const { run } = await store.claimRun({ ...claim, policy: announcing }, null)
    const [delivery] = (await store.outbox.list({ runId: run!.id }, page)).items
    const place = async () => {
      const { repo, toldName } = (await store.outbox.placed(delivery!.id))!
      return { repo, toldName }
    }
    expect(await place()).toEqual({ repo: name, toldName: name })
    // Of another name GitHub's word says nothing about this one.
    await learn(other, id, store.now())
    expect(await place()).toEqual({ repo: other, toldName: name })
    await learn(name, id, store.now())
    expect(await place()).toEqual({ repo: name, toldName: null })
    await tell(name, id, store.now())
    expect(await place()).toEqual({ repo: name, toldName: null })
  })

  it('what only another caller told binds no caller', async () => {
    const [name, first, second] = [unique('acme/told'), ++ids, ++ids]
    await tell(name, first, null)
    await tell(name, second, null)
    await tell(name, second, world().store.now())
    expect(await meant(name)).toBe(second)
  })
}
