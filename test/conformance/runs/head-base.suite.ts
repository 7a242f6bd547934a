/**
 * Goal: a pull request has a head and a base, and GitHub's answer about both decides which run is
 * the current one. A base that no event has named supersedes nothing: GitHub's own `base.sha` moves
 * with the branch, and then only the head decides.
 */
import { expect, it } from 'vitest'
import type { Claim } from '../../../src/domain/claim.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import { completion, pullRequestClaim, sha, unique } from '../claims.ts'
import { second, useWorld, type OpenStore } from '../world.ts'

export function headBase(open: OpenStore): void {
  const world = useWorld(open)

  function pullRequest() {
    const repo = unique('acme/retargeted')
    const claim = (head: string, base: string, over: Partial<Claim> = {}) =>
      world().store.runs.claim(pullRequestClaim({ repo, pr: 5, head, base }, over), null)
    const settle = ({ run, decisionId }: ClaimAnswer, head: string, base: string, at: number) =>
      world().store.runs.confirmHead({
        ...{ runId: run!.id, fence: decisionId, at, actor: 'check' },
        ...{ headSha: sha(head), baseSha: sha(base) },
      })
    return { claim, settle }
  }

  const stateOf = async ({ run }: ClaimAnswer) => (await world().store.runs.get(run!.id))?.state
  const current = async ({ run }: ClaimAnswer) =>
    (await world().store.runs.subject(run!.subjectId))?.currentRunId

  it('pushed and retargeted within a second: the run on GitHub’s base is current', async () => {
    const { claim, settle } = pullRequest()
    await claim('a', 'main', { eventAt: 1 })
    const edited = await claim('b', 'dev', { eventAt: 5 })
    const pushed = await claim('b', 'main', { eventAt: 5, beforeSha: sha('a') })
    expect(pushed).toMatchObject({ process: true, unclear: true })
    const settled = await settle(pushed, 'b', 'dev', 7)
    expect(settled).toEqual({ result: 'moved', supersededRunIds: [pushed.run!.id] })
    expect([await stateOf(edited), await stateOf(pushed)]).toEqual(['pending', 'superseded'])
    expect(await current(edited)).toBe(edited.run!.id)
  })

  it('of two runs on GitHub’s head the one on GitHub’s base is shown again', async () => {
    const { claim, settle } = pullRequest()
    const onMain = await claim('a', 'main', { eventAt: 1 })
    await world().store.runs.complete(completion(onMain), null)
    world().clock.move(second)
    const onDev = await claim('a', 'dev', { eventAt: 2 })
    await world().store.runs.complete(completion(onDev), null)
    const other = await claim('b', 'main')
    expect(await settle(other, 'a', 'main', 7)).toMatchObject({ result: 'moved' })
    expect(await current(other)).toBe(onMain.run!.id)
  })

  it('a base that is unknown confirms the head, and supersedes nothing', async () => {
    const { claim, settle } = pullRequest()
    await claim('a', 'main', { eventAt: 1 })
    const next = await claim('b', 'main')
    const settled = await settle(next, 'b', 'main moved on', 7)
    expect(settled).toEqual({ result: 'confirmed', supersededRunIds: [] })
    expect(await stateOf(next)).toBe('running')
  })

  it('an unknown base moves the head to the only run, which is on another base', async () => {
    const { claim, settle } = pullRequest()
    const first = await claim('a', 'main', { eventAt: 1 })
    const next = await claim('b', 'main')
    expect(await settle(next, 'a', 'main moved on', 7)).toMatchObject({ result: 'moved' })
    expect(await current(next)).toBe(first.run!.id)
  })

  it('a look from before a newer decision changes no base', async () => {
    const { claim, settle } = pullRequest()
    await claim('b', 'dev', { eventAt: 5 })
    const unclear = await claim('b', 'main', { eventAt: 5 })
    const later = await claim('b', 'release', { eventAt: 9 })
    expect(await settle(unclear, 'b', 'dev', 7)).toMatchObject({ result: 'unchanged' })
    expect(await stateOf(later)).toBe('running')
  })
}
