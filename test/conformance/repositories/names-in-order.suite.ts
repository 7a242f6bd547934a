/**
 * Goal: a name means the repository that GitHub gave it to last, whatever arrives late: an event of
 * the old owner does not take back a name that was given away.
 */
import { expect, it } from 'vitest'
import type { HeardAt } from '../../../src/domain/repository-names.ts'
import { pullRequestClaim, unique } from '../claims.ts'
import { useWorld, type OpenStore } from '../world.ts'

let ids = 500_000

export function namesInOrder(open: OpenStore): void {
  const world = useWorld(open)

  const learn = (name: string, id: number, at: HeardAt) => {
    const { store } = world()
    return store.repositories.learn(name, id, at, 'test')
  }
  const meant = async (name: string) => (await world().store.repositories.getByName(name))?.githubId

  /** A reused name: `first` was renamed, and `second` took its old name. */
  async function givenAway() {
    const [name, moved] = [unique('acme/given'), unique('corp/moved')]
    const [first, second] = [++ids, ++ids]
    const t = world().store.now() - 3_600_000
    await learn(name, first, t)
    await learn(moved, first, t + 50_000)
    await learn(name, second, t + 100_000)
    return { name, moved, first, second, t }
  }

  async function expectGivenAway(of: Awaited<ReturnType<typeof givenAway>>): Promise<void> {
    const { store } = world()
    expect([await meant(of.name), await meant(of.moved)]).toEqual([of.second, of.first])
    expect((await store.repositories.getByName(of.moved))?.name).toBe(of.moved)
  }

  it('that was given away is not taken back by a late event of its old owner', async () => {
    const of = await givenAway()
    for (const late of [0, 2000, 50_000, 99_000, 100_000]) {
      await learn(of.name, of.first, of.t + late)
      await expectGivenAway(of)
    }
    const claim = pullRequestClaim({ repo: of.name, pr: 6, head: 'a' })
    const { run } = await world().store.runs.claim(claim, null)
    const subject = await world().store.runs.subject(run!.subjectId)
    expect(await world().store.repositories.get(subject!.scope)).toMatchObject({
      githubId: of.second,
    })
  })

  it('is not taken back by an event without a time', async () => {
    const of = await givenAway()
    await learn(of.name, of.first, null)
    await expectGivenAway(of)
  })

  it('comes back to its old owner by a newer event, or when GitHub says so now', async () => {
    for (const at of ['now', 1] as const) {
      const of = await givenAway()
      await learn(of.name, of.first, at === 'now' ? at : of.t + 101_000)
      expect(await meant(of.name)).toBe(of.first)
      expect((await world().store.repositories.getByName(of.moved))?.name).toBe(of.name)
    }
  })

  it('stays with the repository that GitHub named, whatever earlier events say', async () => {
    const of = await givenAway()
    const { store, clock } = world()
    clock.move(600_000)
    await learn(of.name, of.second, 'now')
    await learn(of.name, of.first, store.now() - 1000)
    await expectGivenAway(of)
  })

  it('is confirmed again and again, so that only newer events count', async () => {
    const of = await givenAway()
    await learn(of.name, of.second, of.t + 900_000)
    await learn(of.name, of.first, of.t + 600_000)
    await expectGivenAway(of)
  })

  it('of an old event leaves the newer one that the repository has', async () => {
    const [before, after, id] = [unique('acme/before'), unique('acme/after'), ++ids]
    const t = world().store.now() - 3_600_000
    await learn(after, id, t + 50_000)
    await learn(before, id, t)
    expect((await world().store.repositories.getByName(after))?.name).toBe(after)
    expect(await meant(before)).toBeUndefined()
  })

  it('that a repository has again is its name again', async () => {
    const [before, after, id] = [unique('acme/before'), unique('acme/after'), ++ids]
    const t = world().store.now() - 3_600_000
    await learn(before, id, t)
    await learn(after, id, t + 1000)
    await learn(before, id, t + 2000)
    expect((await world().store.repositories.getByName(after))?.name).toBe(before)
    await learn(after, id, t + 1000)
    expect((await world().store.repositories.getByName(after))?.name).toBe(before)
  })

  it('that another repository has now does not hide one that is seen late', async () => {
    const { store } = world()
    const [name, owner, late] = [unique('acme/taken'), ++ids, ++ids]
    const t = store.now() - 3_600_000
    await learn(name, owner, t + 100_000)
    const claim = (repoId: number, head: string) =>
      store.runs.claim({ ...pullRequestClaim({ repo: name, pr: 5, head }), repoId }, null)
    const own = await claim(owner, 'a')
    for (const at of [t, null]) {
      await learn(name, late, at)
      expect(await meant(name)).toBe(owner)
    }
    const others = await claim(late, 'b')
    expect(others).toMatchObject({ reason: 'new', supersededKeys: [] })
    const scope = (await store.runs.subject(others.run!.subjectId))!.scope
    expect(await store.repositories.get(scope)).toMatchObject({ githubId: late })
    const found = async (repoId: number) => [
      (await store.runs.subjectsOf(name, 5, repoId)).map(({ id }) => id),
      (await store.runs.list({ repo: name, repoId }, { limit: 5, cursor: null })).items.map(
        ({ id }) => id,
      ),
    ]
    expect(await found(late)).toEqual([[others.run!.subjectId], [others.run!.id]])
    expect(await found(owner)).toEqual([[own.run!.subjectId], [own.run!.id]])
  })

  it('that two first claim at once belongs to the newer event’s repository', async () => {
    const t = world().store.now() - 3_600_000
    for (let round = 1; round <= 40; round++) {
      const [name, older, newer] = [unique('acme/first'), ++ids, ++ids]
      await Promise.all([learn(name, newer, t + 5000), learn(name, older, t)])
      expect(await meant(name)).toBe(newer)
    }
  })

  it('that two learn at once belongs to the newer event’s repository', async () => {
    const [name, t] = [unique('acme/raced'), world().store.now() - 3_600_000]
    for (let round = 1; round <= 10; round++) {
      const [older, newer] = [++ids, ++ids]
      const at = t + round * 10_000
      await Promise.all([learn(name, newer, at + 5000), learn(name, older, at)])
      expect(await meant(name)).toBe(newer)
    }
  })
}
