/**
 * Goal: the comment belongs to the newest head and each status to its own commit, in whatever order
 * heads come, go and come back.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Claimed } from '../../src/runs/runs.ts'
import type { World } from './world.ts'
import { context, head, minute, openWorld, repo, second } from './world.ts'

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

describe('heads come and go', () => {
  it('a newer run takes the comment over: same id, one line for the earlier run', async () => {
    const [here] = await begun()
    const [before] = anchors(here)
    here.github.push(repo, 5, head(2))
    const second2 = await here.claim(2)
    await here.time.pass(10 * second)
    await here.complete(second2, 'Second.')
    await here.time.pass(minute)
    const [after, ...more] = anchors(here)
    expect(more).toEqual([])
    expect(after?.id).toBe(before?.id)
    expect(after?.body).toContain('Second.')
    expect(after?.body).toContain(head(1).slice(0, 7))
    const first = here.github.statuses(repo, head(1), context)
    expect(first.map(({ state }) => state)).toEqual(['pending', 'error'])
    const latest = here.github.statuses(repo, head(2), context)
    expect(latest.map(({ state }) => state)).toEqual(['pending', 'success'])
    expect(await auditTypes(here)).toContain('run.anchor.taken_over')
  })

  it('a run that was superseded before anything of it was sent shows nothing', async () => {
    const here = await openWorld()
    world = here
    await here.claim(1)
    here.github.push(repo, 5, head(2))
    await here.claim(2)
    here.startPublisher()
    await here.time.pass(minute)
    expect(here.github.statuses(repo, head(1), context)).toEqual([])
    expect(here.github.latestStatus(repo, head(2), context)?.state).toBe('pending')
    const skipped = (await here.deliveries()).find(({ sha }) => sha === head(1))
    expect(skipped).toMatchObject({ status: 'SKIPPED', reason: 'never_announced' })
  })

  it('a late completion of the older head changes nothing', async () => {
    const [here, old] = await begun()
    here.github.push(repo, 5, head(2))
    const current = await here.claim(2)
    await here.time.pass(10 * second)
    await expect(here.complete(old, 'Too late.')).rejects.toMatchObject({ code: 'superseded' })
    await expect(here.report(old, 'Too late.')).rejects.toMatchObject({ code: 'superseded' })
    await here.complete(current, 'In time.')
    await here.time.pass(minute)
    expect(anchors(here)[0]?.body).toContain('In time.')
    expect(anchors(here)[0]?.body).not.toContain('Too late.')
  })

  it('back to a finished head: its result is shown again, without a new status', async () => {
    const [here, first] = await begun()
    await here.complete(first, 'First result.')
    await here.time.pass(10 * second)
    here.github.push(repo, 5, head(2))
    await here.claim(2)
    await here.time.pass(10 * second)
    here.github.push(repo, 5, head(1))
    const restored = await here.claim(1)
    expect(restored.reason).toBe('restored')
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(1)
    expect(anchors(here)[0]?.body).toContain('First result.')
    expect(here.github.statuses(repo, head(1), context)).toHaveLength(2)
    expect(here.github.latestStatus(repo, head(2), context)?.state).toBe('error')
  })

  it('a rerun sets the status to pending again first', async () => {
    const [here, first] = await begun()
    await here.complete(first)
    await here.time.pass(10 * second)
    const again = await here.claim(1, { rerun: true })
    await here.time.pass(10 * second)
    await here.complete(again)
    await here.time.pass(10 * second)
    const states = here.github.statuses(repo, head(1), context).map(({ state }) => state)
    expect(states).toEqual(['pending', 'success', 'pending', 'success'])
  })

  it('one comment per run if the type says so', async () => {
    const [here, first] = await begun({ announcement: { anchorPer: 'run' } })
    await here.complete(first)
    here.github.push(repo, 5, head(2))
    const next = await here.claim(2)
    await here.complete(next)
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(2)
  })
})
