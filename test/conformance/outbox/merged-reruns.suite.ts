/**
 * Goal: when two names turn out to be one repository, no requested rerun of a head is lost: neither
 * the work that it started nor a rerun that was to follow.
 */
import { expect, it } from 'vitest'
import type { Claim } from '../../../src/domain/claim.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion, pullRequestClaim, unique } from '../claims.ts'
import { useWorld, type OpenStore } from '../world.ts'

let ids = 800_000

export function mergedReruns(open: OpenStore): void {
  const world = useWorld(open)

  /** A pull request that is claimed under two names until Holdfast learns of the rename. */
  async function renamed() {
    const { store } = world()
    const [before, after, id] = [unique('acme/old'), unique('acme/new'), ++ids]
    const claim = (repo: string, over: Partial<Claim> = {}) =>
      store.runs.claim(pullRequestClaim({ repo, pr: 5, head: 'a' }, over), null)
    await store.repositories.learn(before, id, 'now', 'test')
    const learnRename = () => store.repositories.learn(after, id, 'now', 'test')
    return { before, after, claim, learnRename }
  }

  const complete = (held: ClaimAnswer) => world().store.runs.complete(completion(held), null)
  const runOf = ({ run }: ClaimAnswer) => world().store.runs.get(run!.id)
  const current = async ({ run }: ClaimAnswer) => {
    const { subjectId } = (await world().store.runs.get(run!.id))!
    return (await world().store.runs.subject(subjectId))?.currentRunId
  }

  it.each(['old', 'new'] as const)(
    'an active rerun under the %s name replaces an earlier success',
    async (name) => {
      const { before, after, claim, learnRename } = await renamed()
      const [first, second] = name === 'new' ? [before, after] : [after, before]
      const done = await claim(first)
      await complete(done)
      const again = await claim(second, { rerun: true })
      await learnRename()
      expect(await runOf(again)).toMatchObject({ state: 'running' })
      expect(await current(again)).toBe(again.run!.id)
      expect(await complete(again)).toMatchObject({ state: 'succeeded' })
      expect(await claim(after)).toMatchObject({ reason: 'duplicate', process: false })
      expect((await claim(after, { rerun: true })).run).toMatchObject({ round: 2 })
    },
  )

  it('a round that a requested rerun started replaces an earlier success, too', async () => {
    const { before, after, claim, learnRename } = await renamed()
    const working = await claim(after)
    await claim(after, { rerun: true })
    const done = await claim(before)
    await complete(done)
    expect(await complete(working)).toMatchObject({ state: 'pending', round: 2 })
    await learnRename()
    expect(await runOf(working)).toMatchObject({ state: 'pending', round: 2 })
  })

  it('a rerun that started before the other name’s work succeeded is not repeated', async () => {
    const { before, after, claim, learnRename } = await renamed()
    const rerun = await claim(after, { rerun: true })
    await complete(await claim(before))
    await learnRename()
    expect(await runOf(rerun)).toMatchObject({ state: 'superseded' })
  })

  it.each(['old', 'new'] as const)(
    'a rerun requested under the %s name follows the one of two active runs that continues',
    async (name) => {
      const { before, after, claim, learnRename } = await renamed()
      const goesOn = await claim(before)
      const copy = await claim(after)
      await claim(name === 'old' ? before : after, { rerun: true })
      await learnRename()
      expect(await runOf(copy)).toMatchObject({ state: 'superseded' })
      expect(await runOf(goesOn)).toMatchObject({ state: 'running', rerunWanted: true })
      const requested = { type: 'operator.rerun_requested', runId: goesOn.run!.id }
      const audit = await world().store.audit.list(requested, { limit: 5, cursor: null })
      expect(audit.items).toHaveLength(1)
      expect(await complete(goesOn)).toMatchObject({ state: 'pending', round: 2 })
    },
  )

  it('a rerun that started beside the run that continues follows it', async () => {
    const { before, after, claim, learnRename } = await renamed()
    const goesOn = await claim(before)
    await claim(after, { rerun: true })
    await learnRename()
    expect(await runOf(goesOn)).toMatchObject({ state: 'running', rerunWanted: true })
  })

  it('a success is replaced by work that a requested rerun follows', async () => {
    const { before, after, claim, learnRename } = await renamed()
    const working = await claim(after)
    await complete(await claim(before))
    await claim(after, { rerun: true })
    await learnRename()
    expect(await runOf(working)).toMatchObject({ state: 'running', rerunWanted: true })
  })

  it('without a requested rerun the success counts', async () => {
    const { before, after, claim, learnRename } = await renamed()
    await complete(await claim(before))
    const copy = await claim(after)
    await learnRename()
    expect(await runOf(copy)).toMatchObject({ state: 'superseded', rerunWanted: false })
  })
}
