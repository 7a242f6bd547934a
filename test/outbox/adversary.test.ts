/**
 * Goal: no order of events leaves an announcement in progress forever, shows an older version over
 * a newer one, publishes anything twice, or retries forever.
 * Method: each order that once broke a rule, played with the real store, channels and publisher
 * against the simulated GitHub.
 */
import { channelsByName } from '../../src/channels/github-channels.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { afterExamination } from '../../src/domain/outbox/protocol/after-look.ts'
import { defaultPublishing } from '../../src/domain/outbox/schedule.ts'
import type { Claimed } from '../../src/runs/runs.ts'
import type { World, WorldOptions } from './world.ts'
import { context, creates, head, hour, minute, openWorld, received, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const anchors = (here: World) => here.github.comments(repo, 5)
const stateOn = (here: World, n: number) =>
  here.github.latestStatus(repo, head(n), context)?.state ?? null

async function opened(options: WorldOptions = {}): Promise<World> {
  world = await openWorld(options)
  return world
}

async function begun(options: WorldOptions = {}): Promise<[World, Claimed]> {
  const here = await opened(options)
  here.startPublisher()
  const claimed = await here.claim()
  await here.time.pass(5 * second)
  return [here, claimed]
}

const pendingStatus = (shownAs: string) => ({
  context: shownAs,
  state: 'pending',
  description: '',
  targetUrl: null,
})

describe('nothing stays in progress forever', () => {
  it('what a run published itself is closed, also if its type announces nothing', async () => {
    const [here, claimed] = await begun({
      announcement: { anchorPer: null, statusContext: null },
    })
    await here.publish(claimed, 'own', 'github-status', pendingStatus('ci/own'))
    await here.time.pass(5 * second)
    expect(here.github.latestStatus(repo, head(1), 'ci/own')?.state).toBe('pending')
    await here.complete(claimed)
    await here.time.pass(5 * second)
    expect(here.github.latestStatus(repo, head(1), 'ci/own')?.state).toBe('error')
  })

  it('a comment that a newer run took over, which was cancelled before it was sent', async () => {
    const here = await opened()
    const first = here.startPublisher()
    await here.claim(1)
    await here.time.pass(5 * second)
    expect(anchors(here)[0]?.body).toContain('running')
    await here.act(first.stop())
    here.github.push(repo, 5, head(2))
    const newer = await here.claim(2)
    await here.act(here.runs.cancel(newer.run?.id ?? '', 'test'))
    here.startPublisher()
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(1)
    expect(anchors(here)[0]?.body).not.toContain('review: running')
    expect(stateOn(here, 1)).toBe('error')
    expect(stateOn(here, 2)).toBeNull()
  })

  it('a status that was pending before a head came back and was replaced again', async () => {
    const here = await opened()
    const first = here.startPublisher()
    await here.claim(1)
    await here.time.pass(5 * second)
    expect(stateOn(here, 1)).toBe('pending')
    await here.act(first.stop())
    for (const n of [2, 1, 3]) {
      here.github.push(repo, 5, head(n))
      await here.claim(n)
    }
    here.startPublisher()
    await here.time.pass(minute)
    expect(stateOn(here, 1)).toBe('error')
    expect(stateOn(here, 2)).toBeNull()
    expect(stateOn(here, 3)).toBe('pending')
  })

  it('a shown result is not overwritten by a round that was never shown', async () => {
    const here = await opened()
    const first = here.startPublisher()
    const claimed = await here.claim(1)
    await here.complete(claimed)
    await here.time.pass(5 * second)
    await here.act(first.stop())
    const again = await here.claim(1, { rerun: true })
    await here.act(here.runs.cancel(again.run?.id ?? '', 'test'))
    here.startPublisher()
    await here.time.pass(minute)
    expect(stateOn(here, 1)).toBe('success')
  })

  it('a skipped announcement that is retried shows how the run ended', async () => {
    const here = await opened()
    await here.claim(1)
    here.github.push(repo, 5, head(2))
    await here.claim(2)
    await here.act(here.store.outbox.retryMany({ status: 'SKIPPED' }, 'operator', null))
    here.startPublisher()
    await here.time.pass(minute)
    expect(stateOn(here, 1)).not.toBe('pending')
  })

  it('a run’s own status that an operator skipped is still closed', async () => {
    const [here, claimed] = await begun()
    await here.publish(claimed, 'own', 'github-status', pendingStatus('ci/own'))
    await here.time.pass(5 * second)
    here.github.faults.add({
      on: { route: 'POST /repos/{owner}/{repo}/statuses/{sha}' },
      fault: here.github.faults.serverError(500),
    })
    const more = { ...pendingStatus('ci/own'), description: 'more' }
    await here.publish(claimed, 'own', 'github-status', more)
    await here.time.pass(100)
    const own = await here.delivery('own')
    await here.act(here.store.outbox.skip(own?.id ?? '', 'not now', 'operator', null))
    await here.complete(claimed)
    await here.time.pass(minute)
    expect(here.github.latestStatus(repo, head(1), 'ci/own')?.state).toBe('error')
  })

  it('a check run that arrived late beside the one that replaced it', async () => {
    const here = await opened({
      announcement: { anchorPer: null, statusContext: null, checkName: 'review' },
      app: true,
    })
    here.github.faults.add({
      on: { method: 'POST', route: /check-runs$/ },
      fault: here.github.faults.delayedCommit({ afterMs: 30 * second }),
    })
    here.startPublisher()
    const claimed = await here.claim()
    await here.time.pass(40 * second)
    expect(here.github.checkRuns(repo, head(1))).toHaveLength(2)
    await here.complete(claimed)
    await here.time.pass(hour)
    const checks = here.github.checkRuns(repo, head(1))
    expect(checks.map(({ status }) => status)).toEqual(['completed', 'completed'])
    expect(checks.toSorted((a, b) => b.id - a.id)[0]?.conclusion).toBe('success')
  })

  it('is found once, not every minute, if it can never be sent', async () => {
    const here = await opened()
    here.github.faults.add({
      on: { method: 'POST', times: Infinity },
      fault: here.github.faults.refuse(403, { message: 'No' }),
    })
    here.startPublisher()
    const claimed = await here.claim()
    await here.time.pass(minute)
    expect(await here.delivery('status')).toMatchObject({ status: 'FAILED' })
    await here.act(here.runs.cancel(claimed.run?.id ?? '', 'test'))
    expect(await here.act(here.store.outbox.closeForgotten(10))).toBe(0)
  })
})

describe('an outcome closes only the version it was for', () => {
  it('a refusal of the previous version', async () => {
    const here = await opened()
    const refused = here.github.faults.add({
      on: { route: 'POST /repos/{owner}/{repo}/statuses/{sha}' },
      fault: {
        name: 'refused late',
        run: async (exchange) => {
          await new Promise<void>((resolve) => exchange.scheduler.after(2 * second, resolve))
          return await here.github.faults.refuse(403, { message: 'No' }).run(exchange)
        },
      },
    })
    here.startPublisher()
    const claimed = await here.claim()
    await here.time.pass(second)
    await here.complete(claimed)
    await here.time.pass(minute)
    expect(refused.hits).toBe(1)
    expect(stateOn(here, 1)).toBe('success')
  })

  it('a look that found the previous version', async () => {
    const here = await opened()
    const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
    here.github.faults.add({ on: { route }, fault: here.github.faults.lostAnswer() })
    here.github.faults.add({
      on: { method: 'GET', route: /statuses$/ },
      fault: here.github.faults.lateAnswer(3 * second),
    })
    here.startPublisher()
    const claimed = await here.claim()
    await here.time.pass(2 * second)
    await here.complete(claimed)
    await here.time.pass(8 * second)
    expect(stateOn(here, 1)).toBe('success')
    expect(anchors(here)[0]?.body).toContain('Done.')
  })

  it('a look for a comment', async () => {
    const here = await opened()
    here.github.faults.add({
      on: { method: 'POST', route: /comments$/ },
      fault: here.github.faults.lostAnswer(),
    })
    here.github.faults.add({
      on: { method: 'GET', route: /comments$/ },
      fault: here.github.faults.lateAnswer(3 * second),
    })
    here.startPublisher()
    const claimed = await here.claim()
    await here.time.pass(second)
    await here.complete(claimed)
    await here.time.pass(8 * second)
    expect(anchors(here)).toHaveLength(1)
    expect(anchors(here)[0]?.body).toContain('Done.')
  })

  it.each([
    { what: 'unchanged', hash: 'h' },
    { what: 'nothing' },
    { what: 'reserve' },
    { what: 'invalid', trouble: { code: 'invalid_content', text: 'never' } },
    { what: 'budget', until: Date.UTC(2027, 0, 1), queue: null },
    {
      what: 'look_failed',
      trouble: { code: 'forbidden', text: 'no' },
      after: null,
      permanent: true,
    },
  ] as const)('a finding for the previous version: $what', async (finding) => {
    const here = await opened()
    const claimed = await here.claim()
    const { outbox } = here.store
    const leased = await here.act(outbox.lease({ limit: 10, progressMax: 10 }))
    await here.complete(claimed)
    for (const { lease } of leased) await here.act(outbox.record(lease, finding))
    here.startPublisher()
    await here.time.pass(30 * second)
    expect(stateOn(here, 1)).toBe('success')
    expect(anchors(here)[0]?.body).toContain('Done.')
  })
})

describe('comes first', () => {
  it('the end does not wait for what progress has used up', async () => {
    const [here, claimed] = await begun({ limits: { perHour: 12 } })
    for (let i = 0; i < 12; i++) {
      await here.report(claimed, `report ${i}`)
      await here.time.pass(12 * second)
    }
    expect(await here.delivery('anchor')).toMatchObject({ wait: 'budget' })
    await here.complete(claimed)
    await here.time.pass(5 * second)
    expect(anchors(here)[0]?.body).toContain('Done.')
    expect(stateOn(here, 1)).toBe('success')
  })
})

describe('no more tries than needed', () => {
  it('a label whose answers are lost is set, and not taken as removed by a person', async () => {
    const [here, claimed] = await begun()
    here.github.faults.add({
      on: { method: 'POST', route: /labels$/, times: 3 },
      fault: here.github.faults.serverError(500),
    })
    await here.publish(claimed, 'label', 'github-label', { label: 'seen', present: true })
    await here.time.pass(10 * minute)
    expect(here.github.labels(repo, 5)).toEqual(['seen'])
    expect(await here.delivery('label')).toMatchObject({ status: 'SENT' })
  })

  it('an edit of an existing comment that gets 404s is given up at its deadline', async () => {
    const [here, claimed] = await begun()
    here.github.faults.add({
      on: { method: 'PATCH', times: Infinity },
      fault: here.github.faults.refuse(404, { message: 'Not Found' }),
    })
    await here.report(claimed, 'unseen')
    await here.time.pass(minute)
    const refused = await here.delivery('anchor')
    if (refused === undefined) throw new Error('there is no anchor')
    expect(refused).toMatchObject({ status: 'PENDING', wait: 'backoff' })
    const examined = afterExamination(
      refused,
      { what: 'examined', there: true, placeIsThere: true },
      {
        ...{ now: refused.deadlineAt, rules: defaultPublishing, jitter: 0 },
        channel: channelsByName.of(refused.channel),
      },
    )
    expect(examined.delivery).toMatchObject({ status: 'FAILED', reason: 'deadline', dueAt: null })
  })

  it('reports on a thread that refuses us are sent as rarely as on any other', async () => {
    const here = await opened()
    here.github.faults.add({
      on: { method: 'POST', route: /comments$/, times: Infinity },
      fault: here.github.faults.refuse(403, { message: 'Unable to comment' }),
    })
    here.startPublisher()
    const claimed = await here.claim()
    for (let i = 0; i < 50; i++) {
      await here.report(claimed, `report ${i}`)
      await here.time.pass(200)
    }
    expect(creates(here.github)).toBeLessThanOrEqual(7)
  })

  it('asks for our account once, not once per delivery, while GitHub limits us', async () => {
    const here = await opened()
    here.github.faults.add({
      on: { route: 'GET /user', times: Infinity },
      fault: here.github.faults.tooMany({ retryAfterSeconds: 60 }),
    })
    here.startPublisher()
    const claimed = await here.claim()
    for (let i = 0; i < 10; i++) {
      await here.publish(claimed, `label ${i}`, 'github-label', { label: `l${i}`, present: true })
      await here.time.pass(second)
    }
    expect(received(here.github, 'GET', '/user')).toBe(1)
  })

  it('a write and a look both wait for a hidden commit', async () => {
    const here = await opened({ simulator: { anyCommit: false } })
    const { github, time } = here
    const sha = 'c'.repeat(40)
    github.addCommit(repo, sha, { visibleAt: time.wallMs() + 10 * second })
    github.faults.add({
      on: { route: 'POST /repos/{owner}/{repo}/statuses/{sha}' },
      fault: github.faults.serverError(502),
    })
    here.startPublisher()
    await here.act(here.runs.claim({ kind: 'job', type: 'build', key: 'b', repo, sha }, 'test'))
    await time.pass(2 * minute)
    expect(github.latestStatus(repo, sha, context)?.state).toBe('pending')
  })
})
