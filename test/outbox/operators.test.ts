/**
 * Goal: what an operator decides about a delivery is kept and publishes nothing twice, whatever is
 * being sent at that moment.
 * Method: each decision is made while a request is being sent or in doubt.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Claimed } from '../../src/runs/runs.ts'
import type { World, WorldOptions } from './world.ts'
import { hour, minute, openWorld, repo, second, statusWrites } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const anchors = (here: World) => here.github.comments(repo, 5)

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

describe('decisions of operators', () => {
  const review = { body: 'Looks good.', event: 'COMMENT', commitSha: null, comments: [] }

  it('retry while it is being sent publishes nothing twice', async () => {
    const [here, claimed] = await begun()
    here.github.faults.add({
      on: { method: 'POST', route: /reviews$/ },
      fault: here.github.faults.lateAnswer(5 * second),
    })
    await here.publish(claimed, 'review', 'github-review', review)
    await here.time.pass(second)
    const sending = await here.delivery('review')
    await here.act(here.store.outbox.retry(sending?.id ?? '', 'operator', null))
    await here.time.pass(minute)
    expect(here.github.reviews(repo, 5)).toHaveLength(1)
    expect(await here.delivery('review')).toMatchObject({ status: 'SENT' })
  })

  it('skip and then retry while it is being sent publishes nothing twice', async () => {
    const [here, claimed] = await begun()
    here.github.faults.add({
      on: { method: 'POST', route: /reviews$/ },
      fault: here.github.faults.lateAnswer(5 * second),
    })
    await here.publish(claimed, 'review', 'github-review', review)
    await here.time.pass(second)
    const { id = '' } = (await here.delivery('review')) ?? {}
    await here.act(here.store.outbox.skip(id, 'no', 'operator', null))
    await here.act(here.store.outbox.retry(id, 'operator', null))
    await here.time.pass(minute)
    expect(here.github.reviews(repo, 5)).toHaveLength(1)
    expect(await here.delivery('review')).toMatchObject({ status: 'SENT' })
  })

  it('skip stays in force, whatever the open request does', async () => {
    const here = await opened()
    here.github.faults.add({
      on: { method: 'POST', route: /comments$/ },
      fault: here.github.faults.hang(),
    })
    here.startPublisher()
    await here.claim()
    await here.time.pass(second)
    const { id = '' } = (await here.delivery('anchor')) ?? {}
    await here.act(here.store.outbox.skip(id, 'no', 'operator', null))
    await here.time.pass(hour)
    expect(await here.delivery('anchor')).toMatchObject({ status: 'SKIPPED', reason: 'no' })
    expect(anchors(here)).toEqual([])
  })

  it('what arrived although it was skipped is found by the next version', async () => {
    const here = await opened()
    here.github.faults.add({
      on: { method: 'POST', route: /comments$/ },
      fault: here.github.faults.lateAnswer(5 * second),
    })
    here.startPublisher()
    const claimed = await here.claim()
    await here.time.pass(second)
    const { id = '' } = (await here.delivery('anchor')) ?? {}
    await here.act(here.store.outbox.skip(id, 'no', 'operator', null))
    await here.time.pass(5 * minute)
    await here.complete(claimed)
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(1)
    expect(anchors(here)[0]?.body).toContain('Done.')
  })

  it('confirmed without an id: the next version looks for it', async () => {
    const here = await opened()
    here.github.faults.add({
      on: { method: 'POST', route: /comments$/ },
      fault: here.github.faults.lostAnswer(),
    })
    here.github.faults.add({
      on: { method: 'GET', route: /comments$/ },
      fault: here.github.faults.serverError(500),
    })
    here.startPublisher()
    const claimed = await here.claim()
    await here.time.pass(300)
    const inDoubt = await here.delivery('anchor')
    expect(inDoubt).toMatchObject({ wait: 'in_doubt' })
    await here.act(here.store.outbox.confirm(inDoubt?.id ?? '', null, 'operator', null))
    await here.report(claimed, 'and on')
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(1)
    expect(anchors(here)[0]?.body).toContain('and on')
  })

  it('a confirmed delivery does not prove that GitHub shows the older content', async () => {
    const [here, claimed] = await begun()
    here.github.faults.add({
      on: { route: 'POST /repos/{owner}/{repo}/statuses/{sha}' },
      fault: here.github.faults.refuse(403, { message: 'No' }),
    })
    await here.complete(claimed)
    await here.time.pass(second)
    const failed = await here.delivery('status')
    expect(failed).toMatchObject({ status: 'FAILED' })
    await here.act(here.store.outbox.confirm(failed?.id ?? '', null, 'operator', null))
    const before = statusWrites(here.github)
    await here.claim(1, { rerun: true })
    await here.time.pass(second)
    expect(statusWrites(here.github) - before).toBe(1)
  })

  it('retry of a delivery that failed while in doubt looks before it sends', async () => {
    const [here, claimed] = await begun()
    here.github.faults.add({
      on: { method: 'POST', route: /reviews$/ },
      fault: {
        name: 'did it and asks for a long rest',
        run: (exchange) => {
          exchange.perform()
          return here.github.faults
            .refuse(503, { message: 'later' }, { 'retry-after': String(100 * 3600) })
            .run(exchange)
        },
      },
    })
    await here.publish(claimed, 'review', 'github-review', review)
    await here.time.pass(second)
    const failed = await here.delivery('review')
    expect(failed).toMatchObject({ status: 'FAILED', reason: 'deadline' })
    await here.act(here.store.outbox.retry(failed?.id ?? '', 'operator', null))
    await here.time.pass(minute)
    expect(here.github.reviews(repo, 5)).toHaveLength(1)
  })
})
