/**
 * Goal: runs of two pull requests with the same head commit may publish a status under the same
 * context. The newer run has it. A run that ends without a result hides no result of another, what
 * the other publishes meanwhile is kept, and every status that is not sent is audited.
 */
import { allRights } from '../../../src/channels/github-channels.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import type { ClaimAnswer } from '../../../src/store.ts'
import { holderOf, pullRequestClaim, sha, unique } from '../claims.ts'
import { sentEnd } from './manual-publisher.ts'
import { idOf, useSharedTarget } from './shared-target.ts'
import { type OpenStore } from '../world.ts'

export function sharedOwnStatus(open: OpenStore): void {
  let repo: string
  let commit: string
  const newRepository = (): void => {
    repo = unique('acme/repo')
    commit = unique('commit')
  }
  beforeEach(newRepository)
  const target = useSharedTarget(open, () => status())
  const { world, publisher, complete, cancel, shows, dropped } = target

  const claim = (pr: number, head = commit, rerun = false): Promise<ClaimAnswer> =>
    world.store.runs.claim(pullRequestClaim({ repo, pr, head }, { rerun }), null)
  const say = (held: ClaimAnswer, state: string, name = 'lint') => {
    const { runId, leaseHash } = holderOf(held)
    const content = { context: 'acme/lint', state, description: `${state} of ${name}` }
    const output = { runId, leaseHash, name, content, channel: 'github-status' } as const
    return world.store.outbox.publish({ ...output, actor: 'test', rightsOf: () => allRights }, null)
  }
  const taken = { code: 'target_taken' }
  const status = async () => {
    const page = { limit: 100, cursor: null }
    const { items } = await world.store.outbox.list({ channel: 'github-status' }, page)
    const [only, second] = items.filter((item) => item.sha === sha(commit))
    if (only === undefined || second !== undefined) throw new Error('there is not one status')
    return only
  }

  it('the newer run has it; what the older publishes is refused, kept and audited', async () => {
    const five = await claim(5)
    await say(five, 'pending')
    const six = await claim(6)
    await say(six, 'pending')
    await expect(say(five, 'success')).rejects.toMatchObject(taken)
    await expect(say(five, 'success')).rejects.toMatchObject(taken)
    expect(await shows()).toEqual(['pending', idOf(six)])
    expect(await dropped(five)).toEqual([['running', idOf(six)]])
    await cancel(six)
    expect(await shows()).toEqual(['success', idOf(five)])
    expect(await status()).toMatchObject({ status: 'PENDING', final: true, announces: false })
    expect(await dropped(six)).toEqual([['cancelled', idOf(five)]])
  })

  describe('what the older run published is shown again when the newer one', () => {
    it.each<[string, (six: ClaimAnswer) => Promise<unknown>]>([
      ['is cancelled', cancel],
      ['is skipped', (six) => complete(six, 'skipped')],
      ['is superseded by a push', () => claim(6, 'b')],
    ])('%s', async (_how, end) => {
      for (const last of ['pending', 'success']) {
        newRepository()
        const five = await claim(5)
        await say(five, 'failure')
        await publisher.publish()
        await complete(five)
        const six = await claim(6)
        await say(six, last)
        await publisher.publish()
        await end(six)
        expect(await shows()).toEqual(['failure', idOf(five)])
      }
    })
  })

  it('a run that is shown again can publish again, and is closed at its end', async () => {
    const five = await claim(5)
    await say(five, 'pending')
    const six = await claim(6)
    await say(six, 'pending', 'lint-of-six')
    await cancel(six)
    expect(await shows()).toEqual(['pending', idOf(five)])
    expect(await say(five, 'pending')).toMatchObject({ already: true })
    await publisher.publish()
    await complete(five)
    expect(await shows()).toEqual(['error', idOf(five)])
    expect(await status()).toMatchObject({ name: 'lint', final: true, announces: false })
  })

  it('an older run that ended meanwhile is shown as it ended', async () => {
    const five = await claim(5)
    await say(five, 'pending')
    const six = await claim(6)
    await say(six, 'pending')
    await complete(five, 'failed')
    await cancel(six)
    expect(await shows()).toEqual(['failure', idOf(five)])
    expect(await status()).toMatchObject({ final: true, announces: false })
  })

  it('of several others the newest is shown, and when that one ends too, the next', async () => {
    const [four, five, six] = [await claim(4), await claim(5), await claim(6)]
    for (const held of [four, five, six]) await say(held, 'pending')
    await cancel(six)
    expect(await shows()).toEqual(['pending', idOf(five)])
    await cancel(five)
    expect(await shows()).toEqual(['pending', idOf(four)])
    await cancel(four)
    expect((await shows())[1]).toBe(idOf(four))
    expect(await status()).toMatchObject({ announces: false })
  })

  it('a run that was also cancelled, or starts a new round, is passed over', async () => {
    const [four, five, six] = [await claim(4), await claim(5), await claim(6)]
    for (const held of [four, five, six]) await say(held, 'pending')
    await cancel(five)
    await cancel(six)
    expect(await shows()).toEqual(['pending', idOf(four)])
    const again = await claim(5, commit, true)
    await say(again, 'pending')
    expect(await shows()).toEqual(['pending', idOf(again)])
    await cancel(again)
    expect(await shows()).toEqual(['pending', idOf(four)])
  })

  it('an older run that publishes after the newer one was cancelled is shown', async () => {
    const five = await claim(5)
    const six = await claim(6)
    await say(six, 'pending')
    await cancel(six)
    expect(await say(five, 'success')).toMatchObject({ already: false })
    expect(await shows()).toEqual(['success', idOf(five)])
    const seven = await claim(7)
    await say(seven, 'pending')
    expect(await shows()).toEqual(['pending', idOf(seven)])
    await cancel(seven)
    expect(await shows()).toEqual(['success', idOf(five)])
  })

  it('a run with a result keeps the status', async () => {
    const five = await claim(5)
    await say(five, 'success')
    const six = await claim(6)
    await say(six, 'pending')
    await complete(six, 'failed')
    expect((await shows())[1]).toBe(idOf(six))
  })

  it('a version being sent when the other is shown again does not count as newer', async () => {
    const five = await claim(5)
    await say(five, 'success')
    const six = await claim(6)
    await say(six, 'pending')
    const leased = await publisher.leaseNamed('lint')
    const attempt = await publisher.begun(leased)
    await cancel(six)
    await publisher.end(leased, attempt, sentEnd())
    expect(await status()).toMatchObject({ status: 'PENDING', runId: idOf(five), final: true })
  })

  it('the end of one and the cancellation of the other at once leave nothing open', async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      newRepository()
      const five = await claim(5)
      await say(five, 'pending')
      const six = await claim(6)
      await say(six, 'pending')
      await Promise.all(
        turn % 2 === 0 ? [cancel(six), complete(five)] : [complete(five), cancel(six)],
      )
      expect(await shows()).toEqual(['error', idOf(five)])
      expect(await status()).toMatchObject({ announces: false })
    }
  })

  it('an older run publishes while the newer is cancelled: the older is shown', async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      newRepository()
      const five = await claim(5)
      const six = await claim(6)
      await say(six, 'pending')
      const word = () => say(five, 'success').catch(() => null)
      await Promise.all(turn % 2 === 0 ? [cancel(six), word()] : [word(), cancel(six)])
      expect(await shows()).toEqual(['success', idOf(five)])
    }
  })
}
