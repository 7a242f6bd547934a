/**
 * Goal: `why` advises only what helps: whether a rerun reaches the program that claimed the run,
 * whether a server is missing, and whether an event can start runs at all.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { explain, type Why } from '../../../src/audit/why.ts'
import { queueName } from '../../../src/domain/outbox/queue.ts'
import { unannounced } from '../../../src/domain/run.ts'
import type { ClaimAnswer } from '../../../src/store.ts'
import {
  completion,
  grant,
  leaseRequest,
  policy,
  pullRequestClaim,
  sha,
  unique,
} from '../claims.ts'
import { identity, ManualPublisher } from '../outbox/manual-publisher.ts'
import { hour, openWorld, second, type OpenStore, type World } from '../world.ts'
import { StoryWorld } from './story-world.ts'

const note =
  '(a worker or the next holdfast exec of the same work takes it; a program that only claims ' +
  'does not get it)'

export function whyAdvice(open: OpenStore): void {
  let world: World
  let claimed: ClaimAnswer
  let runId = ''
  beforeEach(async () => {
    world = await openWorld(open)
    const names = { repo: unique('acme/advised'), pr: 5, head: 'one' }
    claimed = await world.store.runs.claim(pullRequestClaim(names), null)
    runId = claimed.run?.id ?? ''
  })
  afterEach(() => world.close())

  const ask = (): Promise<Why> => explain(world.store, runId)
  const offeredRerun = async (): Promise<string | undefined> =>
    (await ask()).actions.find(({ text }) => text.startsWith('Rerun'))?.text

  it('without any server, a claimed run says why GitHub shows nothing of it', async () => {
    await world.store.runs.complete(completion(claimed), null)
    const alone = await ask()
    expect(alone.headline).toMatch(
      / finished at .*: passed\. GitHub shows nothing of it: only a server publishes, and no /,
    )
    expect(alone.headline).toMatch(/ no server has used this database yet\.$/)
    expect(alone.actions).toContainEqual(expect.objectContaining({ command: 'holdfast serve' }))
    await world.store.upkeep.beat()
    expect((await ask()).text).not.toContain('server')
  })

  it('without any server, a run of exec says that exec needs credentials', async () => {
    const names = { repo: unique('acme/by-exec'), pr: 6, head: 'one' }
    const own = { ...pullRequestClaim(names), actor: 'exec' }
    const { run } = await world.store.runs.claim(own, null)
    const { headline, actions } = await explain(world.store, run?.id ?? '')
    expect(headline).toContain(
      'GitHub shows nothing of it: holdfast exec publishes only with GitHub credentials, and no ' +
        'server has used this database yet.',
    )
    const texts = actions.map(({ text }) => text).join()
    expect(texts).toContain('give holdfast exec GitHub credentials')
    expect(texts).not.toContain('restart the program')
  })

  it('of a failed command, why and the audit keep the last lines of the output', async () => {
    const lines = Array.from({ length: 60 }, (_, at) => `line ${at} of the output`)
    const text = ['exit code 3', ...lines, 'boom: disk is on fire'].join('\n')
    const failed = { errorCode: 'command_failed', errorText: text }
    await world.store.runs.complete(completion(claimed, 'failed', failed), null)
    const { headline, story } = await ask()
    const shown = /: “exit code 3 … .*boom: disk is on fire” \(command_failed\)/
    expect(headline).toMatch(shown)
    expect(story.at(-1)?.text).toMatch(shown)
    const page = { limit: 100, cursor: null }
    const { items } = await world.store.audit.list({ runId }, page)
    const row = items.find(({ type }) => type === 'run.failed')
    const kept = String(row?.data['text'])
    expect(kept).toMatch(/^exit code 3\n…\n[^]*\nboom: disk is on fire$/)
    expect(kept.length).toBeLessThanOrEqual(500)
  })

  it('a rerun of what a caller claimed is not for claims alone, and why says so', async () => {
    const rerun = `Rerun review of ${sha('one').slice(0, 7)}`
    expect(await offeredRerun()).toBe(`${rerun} when this round has ended ${note}`)
    await world.store.runs.complete(completion(claimed), null)
    expect(await offeredRerun()).toBe(`${rerun} ${note}`)
    await world.store.runs.rerun(runId, 'test', null)
    const lease = { grant: grant({ holder: 'worker', worker: 'w1' }), runId }
    const leased = await world.store.runs.lease(leaseRequest(lease), null)
    if (leased === null) throw new Error('there was nothing to lease')
    await world.store.runs.complete(completion(leased), null)
    expect(await offeredRerun()).toBe(rerun)
  })

  it('whoever reruns a run with a lost holder did not take it over', async () => {
    world.clock.move(61 * second)
    const { run } = await world.store.runs.rerun(runId, 'cli', null)
    expect(run).toMatchObject({ state: 'pending', round: 1, attempt: 2 })
    const short = sha('one').slice(0, 7)
    expect((await ask()).story.at(-1)?.text).toBe(
      `Somebody at the command line asked for review of ${short} again. It waits for a worker in ` +
        'the same round, because its holder was silent for too long (attempt 2).',
    )
  })

  it('a pending rerun of what a caller did is for exec or a worker, and why says so', async () => {
    await world.store.runs.complete(completion(claimed), null)
    await world.store.runs.rerun(runId, 'test', null)
    const exec = 'Start its job again (holdfast exec), or start a worker that takes review runs'
    const { actions, awaiting } = await ask()
    expect(actions[0]).toEqual({ text: exec, command: null })
    expect(awaiting[0]?.what).toMatch(/^a worker or the next holdfast exec for review of /)
    const again = { grant: grant({ holder: 'caller', worker: 'exec on ci' }), runId }
    const leased = await world.store.runs.lease(leaseRequest(again), null)
    if (leased === null) throw new Error('there was nothing to lease')
    await world.store.runs.complete(completion(leased), null)
    await world.store.runs.rerun(runId, 'test', null)
    expect((await ask()).actions[0]).toEqual({ text: exec, command: null })
  })

  it('a rerun of what a lost caller had claimed is not for claims alone either', async () => {
    world.clock.move(2 * hour)
    for (const id of await world.store.runs.due(10)) await world.store.runs.sweep(id)
    expect((await ask()).headline).toContain(' failed at ')
    expect(await offeredRerun()).toContain(note)
  })

  it('a delivery that failed and waits for a budget says the failure first', async () => {
    const publisher = new ManualPublisher(world)
    const anchored = { ...policy, announcement: { ...unannounced, anchorPer: 'subject' as const } }
    const names = { repo: unique('acme/failing'), pr: 5, head: 'one' }
    await world.store.runs.claim(pullRequestClaim(names, { policy: anchored }), null)
    const trouble = { code: 'not_found', text: 'GitHub answered 404' }
    for (let tries = 0; tries < 4; tries += 1) {
      const leased = await publisher.leaseNamed('anchor')
      await publisher.send(leased, { what: 'retry', trouble, after: null })
      world.clock.move(hour)
    }
    const { lease, delivery } = await publisher.leaseNamed('anchor')
    const until = world.store.now() + 90 * second
    const queue = queueName(identity, delivery.channel)
    await world.store.outbox.record(lease, { what: 'budget', until, queue })
    const { headline, awaiting } = await explain(world.store, `${names.repo}#5`)
    expect(headline).toMatch(
      /: the last try failed \(GitHub answered 404\); next try at .* UTC, when the budget of token/,
    )
    const what = 'the next try to send the comment (try 5), when the write budget of token has room'
    expect(awaiting).toContainEqual({ what, until })
  })

  it('of an event without runs, it neither advises to name it nor guesses who', async () => {
    const story = new StoryWorld(world)
    const sent = { event: 'star', action: 'created', sender: null }
    const { inboxId } = await story.send({ ...sent, payload: { pull_request: undefined } })
    const why = await story.why(inboxId)
    expect(why.headline).toMatch(
      /^GitHub sent star \(created\) at .*, because this version has no runs for this event\.$/,
    )
    expect(why.story.map(({ text }) => text)).toEqual([
      'GitHub sent star (created): nothing was started, because this version has no runs for ' +
        'this event.',
    ])
    expect(why.actions).toEqual([])
    const labeled = await story.send({ action: 'labeled', sender: null })
    const startable = await story.why(labeled.inboxId)
    expect(startable.headline).toMatch(/^Somebody put a label on .* listens to this event\.$/)
    expect(startable.actions[0]?.text).toContain('name it under "on" or "rerunOn"')
  })
}
