/**
 * Goal: a store that was restored from a backup leaves nothing "in progress" and publishes nothing
 * a second time, and neither does a store that lost its data.
 * Method: the real store on a file, its backup, and the real publisher as an App against the
 * simulated GitHub. What happens after the backup is not in the restored store.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemRandom } from '../../src/random.ts'
import { backupSqlite } from '../../src/stores/drivers/sqlite-backup.ts'
import type { World } from './world.ts'
import { context, head, hour, minute, openWorld, repo, second } from './world.ts'

const day = 24 * hour

let folder: string
const worlds: World[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-restored-'))
})
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close()
  rmSync(folder, { recursive: true })
})

const asApp = { app: true, announcement: { checkName: context } } as const

async function opened(name: string, beside?: World): Promise<World> {
  const path = join(folder, name)
  const world = await openWorld({ ...asApp, path, ...(beside !== undefined && { beside }) })
  worlds.push(world)
  return world
}

/** A backup takes real time, during which no simulated time passes. */
async function backUp(): Promise<void> {
  const target = join(folder, 'copy.db')
  const copied = { target, replace: false, random: systemRandom, onProgress: () => undefined }
  await backupSqlite(join(folder, 'live.db'), copied)
}

/** The first store is lost, and the backup replaces it. */
async function restore(lost: World): Promise<World> {
  await lost.close()
  worlds.splice(worlds.indexOf(lost), 1)
  const restored = await opened('copy.db', lost)
  await restored.act(restored.store.upkeep.beat())
  restored.startPublisher()
  return restored
}

const anchors = ({ github }: World) => github.comments(repo, 5).map(({ body }) => body)
const checks = ({ github }: World) => github.checkRuns(repo, head(1))

describe('a restored store', () => {
  it('corrects what a run after the backup had shown as in progress', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    const claimed = await first.claim()
    await first.time.pass(5 * second)
    await first.complete(claimed, 'The result.')
    await first.time.pass(5 * second)
    await backUp()
    await first.claim(1, { rerun: true })
    await first.time.pass(minute)
    expect(first.github.latestStatus(repo, head(1), context)?.state).toBe('pending')
    const restored = await restore(first)
    await restored.time.pass(hour)
    expect(restored.github.latestStatus(repo, head(1), context)?.state).toBe('success')
    expect(anchors(restored)).toHaveLength(1)
    expect(anchors(restored)[0]).toContain('The result.')
    expect(checks(restored).map(({ conclusion }) => conclusion)).toEqual(['success', 'success'])
    for (const { protocol, dueAt } of await restored.deliveries()) {
      expect(protocol).not.toHaveProperty('restored')
      expect(dueAt).toBeNull()
    }
  })

  it('finds what was created after the backup, and creates none of it again', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await backUp()
    const claimed = await first.claim()
    await first.publish(claimed, 'note', 'github-comment', { form: 'text', body: 'A note.' })
    await first.time.pass(minute)
    const restored = await restore(first)
    const again = await restored.claim()
    expect(again.reason).toBe('new')
    await restored.publish(again, 'note', 'github-comment', { form: 'text', body: 'A note.' })
    await restored.time.pass(minute)
    await restored.complete(again, 'The result.')
    await restored.time.pass(hour)
    expect(checks(restored)).toMatchObject([{ status: 'completed', conclusion: 'success' }])
    expect(anchors(restored)).toHaveLength(2)
    // The two may be created in either order.
    expect(anchors(restored).filter((body) => body.includes('The result.'))).toHaveLength(1)
  })

  it('closes what was shown as in progress if its run ended before it was sent', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await backUp()
    await first.claim()
    await first.time.pass(minute)
    expect(first.github.latestStatus(repo, head(1), context)?.state).toBe('pending')
    const restored = await restore(first)
    const { run } = await restored.claim()
    await restored.act(restored.store.runs.cancel(run?.id ?? '', 'test', null))
    await restored.time.pass(hour)
    const states = restored.github.statuses(repo, head(1), context).map(({ state }) => state)
    expect(states).toEqual(['pending', 'error'])
    expect(checks(restored)).toMatchObject([{ status: 'completed', conclusion: 'cancelled' }])
    expect(anchors(restored)).toHaveLength(1)
    expect(anchors(restored)[0]).toContain('cancelled')
  })

  const summaries = (world: World) => checks(world).map(({ output }) => output.summary)

  it('does not change the check run of a later round that the backup knows', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await first.complete(await first.claim(), 'The first result.')
    await first.time.pass(minute)
    await first.complete(await first.claim(1, { rerun: true }), 'The second result.')
    await first.time.pass(minute)
    await backUp()
    const restored = await restore(first)
    await restored.time.pass(hour)
    expect(summaries(restored)).toEqual(['The first result.', 'The second result.'])
  })

  it('does not change the check run of a round that begins before its reads end', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await first.complete(await first.claim(), 'The first result.')
    await first.time.pass(minute)
    await backUp()
    const restored = await restore(first)
    const again = await restored.claim(1, { rerun: true })
    await restored.time.pass(minute)
    await restored.complete(again, 'The second result.')
    await restored.time.pass(hour)
    expect(summaries(restored)).toEqual(['The first result.', 'The second result.'])
  })

  it('closes the check runs of forgotten rounds in its own next one', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await first.complete(await first.claim())
    await first.time.pass(minute)
    await backUp()
    await first.complete(await first.claim(1, { rerun: true }))
    await first.time.pass(minute)
    await first.claim(1, { rerun: true })
    await first.time.pass(minute)
    const restored = await restore(first)
    const again = await restored.claim(1, { rerun: true })
    await restored.time.pass(minute)
    await restored.complete(again)
    await restored.time.pass(hour)
    expect(checks(restored).map(({ status }) => status)).not.toContain('in_progress')
    expect(checks(restored).at(-1)?.conclusion).toBe('success')
  })

  it('closes what a rerun since the backup showed, if nothing was shown before', async () => {
    const first = await opened('live.db')
    const { run } = await first.claim()
    await first.act(first.store.runs.cancel(run?.id ?? '', 'test', null))
    await backUp()
    first.startPublisher()
    await first.claim(1, { rerun: true })
    await first.time.pass(minute)
    expect(anchors(first)[0]).toContain('running')
    const restored = await restore(first)
    await restored.time.pass(hour)
    expect(anchors(restored)).toHaveLength(1)
    expect(anchors(restored)[0]).toContain('cancelled')
    expect(restored.github.latestStatus(repo, head(1), context)?.state).toBe('error')
    expect(checks(restored)).toMatchObject([{ status: 'completed', conclusion: 'cancelled' }])
  })

  it('shows nothing of a run that was never shown', async () => {
    const first = await opened('live.db')
    const { run } = await first.claim()
    await first.act(first.store.runs.cancel(run?.id ?? '', 'test', null))
    await backUp()
    const restored = await restore(first)
    await restored.time.pass(hour)
    expect(anchors(restored)).toEqual([])
    expect(restored.github.statuses(repo, head(1), context)).toEqual([])
    expect(checks(restored)).toEqual([])
    for (const { status, dueAt } of await restored.deliveries()) {
      expect({ status, dueAt }).toEqual({ status: 'SKIPPED', dueAt: null })
    }
  })

  /** The request takes effect only after every node has given it up. */
  function delay({ github }: World, route: RegExp): void {
    const fault = github.faults.delayedCommit({ afterMs: 10 * minute })
    github.faults.add({ on: { method: 'POST', route }, fault })
  }

  it.each(['before', 'after'] as const)(
    'removes a late comment of a run claimed %s the backup',
    async (when) => {
      const first = await opened('live.db')
      delay(first, /comments$/)
      first.startPublisher()
      if (when === 'after') await backUp()
      const claimed = await first.claim()
      await first.time.pass(2 * second)
      if (when === 'before') await backUp()
      await first.complete(claimed, 'The result.')
      await first.time.pass(2 * minute)
      expect(anchors(first)).toHaveLength(1)
      const restored = await restore(first)
      if (when === 'after') await restored.complete(await restored.claim(), 'The result.')
      await restored.time.pass(hour)
      expect(restored.github.allComments(repo, 5).length).toBeGreaterThan(1)
      expect(anchors(restored)).toHaveLength(1)
    },
  )

  it('corrects a late status of a run claimed after the backup', async () => {
    const first = await opened('live.db')
    delay(first, /statuses/)
    first.startPublisher()
    await backUp()
    await first.claim()
    await first.time.pass(minute)
    const restored = await restore(first)
    await restored.complete(await restored.claim())
    await restored.time.pass(hour)
    expect(restored.github.latestStatus(repo, head(1), context)?.state).toBe('success')
  })

  it('sets a status from before the backup again, once', async () => {
    const first = await opened('live.db')
    const { run } = await first.claim()
    await backUp()
    const restored = await restore(first)
    for (let round = 2; round < 5; round += 1) {
      await restored.time.pass(5 * second)
      await restored.act(restored.store.runs.cancel(run?.id ?? '', 'test', null))
      await restored.claim(1, { rerun: true })
    }
    await restored.time.pass(hour)
    const states = restored.github.statuses(repo, head(1), context).map(({ state }) => state)
    expect(states).toEqual(['pending'])
  })

  it('does not repeat the status it finds, although it looked for an older version', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await backUp()
    await first.claim()
    await first.time.pass(minute)
    const restored = await restore(first)
    const { run } = await restored.claim()
    await restored.act(restored.store.runs.cancel(run?.id ?? '', 'test', null))
    const { faults } = restored.github
    const on = { method: 'GET', route: /statuses/ }
    const look = faults.add({ on, fault: faults.lateAnswer(3 * second) })
    await restored.time.passUntil(() => look.hits > 0, hour)
    await restored.claim(1, { rerun: true })
    await restored.time.pass(hour)
    const states = restored.github.statuses(repo, head(1), context).map(({ state }) => state)
    expect(states).toEqual(['pending'])
    const looked = (await restored.deliveries()).find(({ name }) => name === 'status')
    expect(looked).toMatchObject({ status: 'SENT', dueAt: null })
    expect(looked?.protocol).not.toHaveProperty('restored')
  })

  it('creates a new check run if the one it finds is completed', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await backUp()
    await first.complete(await first.claim())
    await first.time.pass(minute)
    const restored = await restore(first)
    const again = await restored.claim()
    await restored.time.pass(minute)
    expect(checks(restored).map(({ status }) => status)).toEqual(['completed', 'in_progress'])
    await restored.complete(again)
    await restored.time.pass(minute)
    await restored.time.pass(hour)
    expect(checks(restored).map(({ conclusion }) => conclusion)).toEqual(['success', 'success'])
  })

  it('corrects the comment that was recreated since the backup', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await first.complete(await first.claim(), 'The result.')
    await first.time.pass(minute)
    await backUp()
    first.github.deleteCommentAs('octocat', first.github.comments(repo, 5)[0]?.id ?? 0)
    await first.claim(1, { rerun: true })
    await first.time.pass(5 * minute)
    expect(anchors(first)[0]).toContain('running')
    const restored = await restore(first)
    await restored.time.pass(hour)
    expect(anchors(restored)).toHaveLength(1)
    expect(anchors(restored)[0]).toContain('The result.')
  })

  it('does not recreate the comment of an ended run that a person has deleted', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await first.complete(await first.claim())
    await first.time.pass(minute)
    await backUp()
    first.github.deleteCommentAs('octocat', first.github.comments(repo, 5)[0]?.id ?? 0)
    const restored = await restore(first)
    await restored.time.pass(hour)
    expect(anchors(restored)).toEqual([])
  })

  it('reads each of its recent states once, a second apart, and writes nothing', async () => {
    const first = await opened('live.db')
    first.startPublisher()
    await first.complete(await first.claim())
    await first.time.pass(minute)
    await backUp()
    const restored = await restore(first)
    const before = restored.github.requests.length
    await restored.time.pass(hour)
    const asked = restored.github.requests
      .slice(before)
      .filter(({ path }) => /issues|commits/.test(path))
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET'])
  })

  it('does not read what was shown long before the backup', async () => {
    const first = await opened('live.db')
    const publisher = first.startPublisher()
    await first.complete(await first.claim())
    await first.time.pass(minute)
    await first.act(publisher.stop())
    first.time.jump(8 * day)
    await first.act(first.store.upkeep.beat())
    await backUp()
    const restored = await restore(first)
    const before = restored.github.requests.length
    await restored.time.pass(hour)
    expect(restored.github.requests.length).toBe(before)
  })
})

it('a thread older than the store’s knowledge is looked at before a comment', async () => {
  const here = await openWorld()
  worlds.push(here)
  const publisher = here.startPublisher()
  await here.complete(await here.claim())
  await here.time.pass(minute)
  await here.act(publisher.stop())
  here.time.jump(400 * day)
  const limits = { finishedMs: day, supersededMs: day, eventMs: day, auditMs: day }
  await here.act(here.store.upkeep.purge(limits, 'test'))
  await here.act(here.store.upkeep.purge(limits, 'test'))
  expect(await here.deliveries()).toEqual([])
  here.startPublisher()
  here.github.push(repo, 5, head(2))
  const later = await here.claim(2)
  await here.complete(later, 'After a long sleep.')
  await here.time.pass(hour)
  expect(anchors(here)).toHaveLength(1)
  expect(anchors(here)[0]).toContain('After a long sleep.')
})
