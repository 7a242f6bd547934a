/**
 * Goal: what arrives late, twice or from several nodes at once leaves one anchor with the newest
 * text.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Claimed } from '../../src/runs/runs.ts'
import type { World } from './world.ts'
import { context, creates, edits, head, minute, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const anchors = (here: World) => here.github.comments(repo, 5)
const auditTypes = async (here: World): Promise<string[]> => {
  const page = await here.act(here.store.audit.list({}, { limit: 1000, cursor: null }))
  return page.items.map(({ type }) => type)
}

async function begun(options: Parameters<typeof openWorld>[0] = {}): Promise<[World, Claimed]> {
  const here = await openWorld(options)
  world = here
  here.startPublisher()
  const claimed = await here.claim()
  await here.time.pass(5 * second)
  return [here, claimed]
}

describe('late and repeated requests', () => {
  it('a create that arrives late makes two: the lower id stays, the other is removed', async () => {
    const here = await openWorld()
    world = here
    const { github } = here
    const held = github.faults.add({
      on: { method: 'POST', route: /comments$/ },
      fault: github.faults.delayedCommit({ afterMs: 30 * second }),
    })
    here.startPublisher()
    const claimed = await here.claim()
    await here.time.pass(25 * second)
    expect(held.hits).toBe(1)
    expect(creates(github)).toBe(2)
    await here.time.pass(10 * second)
    expect(anchors(here)).toHaveLength(2)
    await here.complete(claimed, 'Only one stays.')
    await here.time.pass(20 * minute)
    const live = anchors(here)
    expect(live).toHaveLength(1)
    expect(live[0]?.body).toContain('Only one stays.')
    expect(live[0]?.id).toBe(Math.min(...github.allComments(repo, 5).map(({ id }) => id)))
    expect(await auditTypes(here)).toContain('run.anchor.deduplicated')
  })

  it('an edit that arrives late over a newer one is found and overwritten', async () => {
    const [here, claimed] = await begun()
    here.github.faults.add({
      on: { method: 'PATCH' },
      fault: here.github.faults.delayedCommit({ afterMs: 25 * second }),
    })
    await here.report(claimed, 'old words')
    await here.time.pass(15 * second)
    await here.complete(claimed, 'New words.')
    await here.time.pass(20 * minute)
    expect(anchors(here)[0]?.body).toContain('New words.')
    expect(anchors(here)).toHaveLength(1)
    expect(edits(here.github)).toBeGreaterThanOrEqual(2)
    const types = await auditTypes(here)
    expect(types).toContain('delivery.settled')
  })
})

it('two publishers on one store publish once', async () => {
  const here = await openWorld()
  world = here
  here.startPublisher()
  here.startPublisher()
  here.startPublisher()
  const claimed = await here.claim()
  for (let i = 0; i < 10; i++) {
    await here.report(claimed, `report ${i}`)
    await here.time.pass(second)
  }
  await here.complete(claimed)
  await here.time.pass(minute)
  expect(creates(here.github)).toBe(1)
  expect(here.github.statuses(repo, head(1), context)).toHaveLength(2)
})

it('a commit that GitHub does not show yet is waited for', async () => {
  const here = await openWorld({ simulator: { anyCommit: false } })
  world = here
  const { github, time } = here
  const sha = 'c'.repeat(40)
  github.addCommit(repo, sha, { visibleAt: time.wallMs() + 5 * second })
  here.startPublisher()
  await here.act(here.runs.claim({ kind: 'job', type: 'build', key: 'build 1', repo, sha }, 'test'))
  await time.pass(minute)
  expect(github.latestStatus(repo, sha, context)?.state).toBe('pending')
})

it('a clock of GitHub that is ahead of ours causes no mistake', async () => {
  const here = await openWorld({ simulator: { aheadMs: 7 * minute } })
  world = here
  const { github, time } = here
  github.faults.add({
    on: { method: 'POST', route: /comments$/ },
    fault: github.faults.lostAnswer(),
  })
  here.startPublisher()
  await here.claim()
  await time.pass(minute)
  expect(creates(github)).toBe(1)
  expect(anchors(here)).toHaveLength(1)
})

it('a summary that is far too long is cut and keeps its marker', async () => {
  const [here, claimed] = await begun()
  await here.complete(claimed, 'word '.repeat(50_000))
  await here.time.pass(minute)
  const body = anchors(here)[0]?.body ?? ''
  expect(body.length).toBeLessThan(65_536)
  expect(body).toMatch(/<!-- holdfast:1 [^>]+ -->$/)
})
