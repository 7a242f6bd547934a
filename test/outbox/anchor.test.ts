/**
 * Goal: at most one live anchor per target, written by us, with the newest text, whatever people
 * and late requests do to the thread.
 * Method: the real publisher against the simulated GitHub, where people delete, edit, copy, lock
 * and rename. GitHub counts the requests.
 */
import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { explain } from '../../src/audit/why.ts'
import { withMarker } from '../../src/channels/marker.ts'
import type { Claimed } from '../../src/runs/runs.ts'
import type { World } from './world.ts'
import { context, creates, head, hour, minute, openWorld, received, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

/** The delivery key in the anchor's marker, whichever store writes it. */
const anchorMarkerKey = createHash('sha256')
  .update('review\npr-5\nanchor')
  .digest('hex')
  .slice(0, 32)

const anchors = (here: World) => here.github.comments(repo, 5)
async function begun(options: Parameters<typeof openWorld>[0] = {}): Promise<[World, Claimed]> {
  const here = await openWorld(options)
  world = here
  here.startPublisher()
  const claimed = await here.claim()
  await here.time.pass(5 * second)
  return [here, claimed]
}

describe('a person deletes it', () => {
  it('the next update recreates it exactly once, and the audit names both (C5)', async () => {
    const [here, claimed] = await begun()
    const [old] = anchors(here)
    here.github.deleteCommentAs('octocat', old?.id ?? 0)
    await here.report(claimed, 'still here')
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(1)
    expect(anchors(here)[0]?.body).toContain('still here')
    expect(creates(here.github)).toBe(2)
    const page = await here.act(
      here.store.audit.list({ type: 'run.anchor.recreated' }, { limit: 10, cursor: null }),
    )
    expect(page.items).toHaveLength(1)
    expect(page.items[0]?.data).toEqual({
      old_id: String(old?.id),
      new_id: String(anchors(here)[0]?.id),
      reason: 'deleted',
    })
    const places = await here.act(
      here.store.outbox.anchorsOf([
        {
          id: claimed.run?.id ?? '',
          subjectId: claimed.run?.subjectId ?? '',
          anchorPer: 'subject',
        },
      ]),
    )
    expect(places.get(claimed.run?.id ?? '')?.commentId).toBe(String(anchors(here)[0]?.id))
  })

  it('five updates at that moment by three publishers recreate it once (C5)', async () => {
    const [here, claimed] = await begun()
    here.startPublisher()
    here.startPublisher()
    const [old] = anchors(here)
    here.github.deleteCommentAs('octocat', old?.id ?? 0)
    const updates = Array.from({ length: 5 }, (_, n) => here.report(claimed, `update ${n}`))
    await Promise.all(updates)
    await here.time.pass(hour)
    const [recreated, ...more] = anchors(here)
    expect(more).toEqual([])
    expect(recreated?.id).not.toBe(old?.id)
    expect(recreated?.body).toContain('update 4')
    expect(creates(here.github)).toBe(2)
    const page = await here.act(
      here.store.audit.list({ type: 'run.anchor.recreated' }, { limit: 10, cursor: null }),
    )
    expect(page.items.map(({ data }) => data)).toEqual([
      { old_id: String(old?.id), new_id: String(recreated?.id), reason: 'deleted' },
    ])
  })

  it('twice: it is not recreated in this round, but the next run has one again', async () => {
    const [here, claimed] = await begun()
    for (const text of ['one', 'two']) {
      here.github.deleteCommentAs('octocat', anchors(here)[0]?.id ?? 0)
      await here.report(claimed, text)
      await here.time.pass(minute)
    }
    expect(anchors(here)).toEqual([])
    await here.report(claimed, 'three')
    await here.complete(claimed)
    await here.time.pass(minute)
    expect(anchors(here)).toEqual([])
    const anchor = (await here.deliveries()).find(({ name }) => name === 'anchor')
    expect(anchor).toMatchObject({ status: 'SKIPPED', reason: 'anchor_removed' })
    here.github.push(repo, 5, head(2))
    await here.claim(2)
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(1)
  })

  it('a 404 alone is no proof: while the thread is not visible, nothing is created', async () => {
    const [here, claimed] = await begun()
    here.github.restrict(repo)
    await here.report(claimed, 'unseen')
    await here.time.pass(minute)
    const anchor = (await here.deliveries()).find(({ name }) => name === 'anchor')
    expect(anchor).toMatchObject({ status: 'FAILED', reason: 'not_found' })
    expect(creates(here.github)).toBe(1)
    here.github.allow(repo)
    await here.report(claimed, 'seen again')
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(1)
    expect(anchors(here)[0]?.body).toContain('seen again')
  })

  it('an edit refused with 403, 429 or 500 never creates a second one (C6)', async () => {
    const [here, claimed] = await begun()
    const refusals = [
      here.github.faults.refuse(403, { message: 'Resource 404 not accessible' }),
      here.github.faults.tooMany({ retryAfterSeconds: 2 }),
      here.github.faults.serverError(500),
    ]
    for (const fault of refusals) {
      here.github.faults.add({ on: { method: 'PATCH' }, fault })
      await here.report(claimed, `after ${fault.name}`)
      await here.time.pass(minute)
    }
    await here.report(claimed, 'at the end')
    await here.time.pass(minute)
    expect(creates(here.github)).toBe(1)
    expect(anchors(here)[0]?.body).toContain('at the end')
  })
})

describe('others write', () => {
  it('a copy of our marker by somebody else is not ours, and stays as it is (C9)', async () => {
    const [here, claimed] = await begun()
    const body = anchors(here)[0]?.body ?? ''
    const foreign = here.github.commentAs('mallory', repo, 5, `Mine now!\n${body}`)
    here.github.faults.add({ on: { method: 'PATCH' }, fault: here.github.faults.lostAnswer() })
    await here.report(claimed, 'go on')
    await here.complete(claimed, 'Result.')
    await here.time.pass(hour)
    const live = anchors(here)
    expect(live).toHaveLength(2)
    expect(live.find(({ id }) => id === foreign.id)?.body).toBe(foreign.body)
    expect(live.find(({ id }) => id !== foreign.id)?.body).toContain('Result.')
  })

  it('an earlier copy by somebody else is not adopted after a lost answer', async () => {
    const here = await openWorld()
    world = here
    const { github } = here
    github.faults.add({
      on: { method: 'POST', route: /comments$/ },
      fault: {
        name: 'copied at once',
        run: (exchange) => {
          const { body } = JSON.parse(exchange.request.body) as { body: string }
          github.commentAs('mallory', repo, 5, body)
          return { kind: 'reset' }
        },
      },
    })
    here.startPublisher()
    await here.claim()
    await here.time.pass(minute)
    const ours = anchors(here).filter(({ author }) => author !== 'mallory')
    expect(ours).toHaveLength(1)
    expect(creates(github)).toBe(2)
  })

  it('somebody edits ours: the next update corrects it', async () => {
    const [here, claimed] = await begun()
    here.github.editCommentAs('maintainer', anchors(here)[0]?.id ?? 0, 'nothing to see here')
    await here.complete(claimed, 'Result.')
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(1)
    expect(anchors(here)[0]?.body).toContain('Result.')
  })

  it('250 comments of others cost nothing (C7)', async () => {
    const [here, claimed] = await begun()
    for (let i = 0; i < 250; i++) here.github.commentAs('octocat', repo, 5, `comment ${i}`)
    const before = here.github.requests.length
    await here.report(claimed, 'after the crowd')
    await here.time.pass(minute)
    expect(here.github.requests.length - before).toBe(1)
    expect(creates(here.github)).toBe(1)
  })
})

describe('the thread', () => {
  it('locked: FAILED and visible, and published when it is unlocked', async () => {
    const [here, claimed] = await begun()
    here.github.lock(repo, 5)
    here.github.deleteCommentAs('octocat', anchors(here)[0]?.id ?? 0)
    await here.report(claimed, 'locked out')
    await here.time.pass(minute)
    const failed = (await here.deliveries()).find(({ name }) => name === 'anchor')
    expect(failed).toMatchObject({ status: 'FAILED' })
    here.github.unlock(repo, 5)
    await here.act(here.store.outbox.retry(failed?.id ?? '', 'operator', null))
    await here.time.pass(minute)
    expect(anchors(here)).toHaveLength(1)
  })

  it('older than the store is looked at before the first comment, and ours is found', async () => {
    const here = await openWorld({ youngThread: false })
    world = here
    // The comment of a lost store, signed with a key that this store also has.
    const [current, ...others] = await here.act(here.store.outbox.markerKeys())
    const of = {
      ...{ repoGithubId: here.github.repository(repo).id, ownRepositoryIds: [], thread: 5 },
      markerKey: anchorMarkerKey,
    }
    const body = withMarker('From before.', of, { current: current!, all: others })
    const old = here.github.commentAs('holdfast-bot', repo, 5, body)
    here.startPublisher()
    await here.claim()
    await here.time.pass(10 * second)
    expect(received(here.github, 'GET', '/issues/5/comments')).toBe(1)
    expect(creates(here.github)).toBe(0)
    const [anchor] = anchors(here)
    expect(anchors(here)).toHaveLength(1)
    expect(anchor?.id).toBe(old.id)
    expect(anchor?.body).not.toContain('From before.')
  })

  it('older than the store and without ours gets its first comment after one look', async () => {
    const here = await openWorld({ youngThread: false })
    world = here
    here.startPublisher()
    await here.claim()
    await here.time.pass(10 * second)
    expect(received(here.github, 'GET', '/issues/5/comments')).toBe(1)
    expect(creates(here.github)).toBe(1)
  })

  it('renamed: it continues under its id, without a redirect', async () => {
    const [here, claimed] = await begun()
    here.github.rename(repo, 'acme/gadgets')
    await here.complete(claimed, 'Under a new name.')
    await here.time.pass(minute)
    const [anchor] = here.github.comments('acme/gadgets', 5)
    expect(anchor?.body).toContain('Under a new name.')
    expect(here.github.latestStatus('acme/gadgets', head(1), context)?.state).toBe('success')
    expect(creates(here.github)).toBe(1)
    expect(here.github.requests.filter(({ status }) => status === 301)).toEqual([])
  })
})

it('a marker of our account that no key of ours signed is held, not created again', async () => {
  const here = await openWorld({ youngThread: false })
  world = here
  // The comment of a lost store: the same delivery, signed with another key.
  const marker = `<!-- holdfast:1 0ldkey ${anchorMarkerKey} ${'x'.repeat(43)} -->`
  here.github.commentAs('holdfast-bot', repo, 5, `From before.\n\n${marker}`)
  here.startPublisher()
  await here.claim()
  await here.time.pass(hour)
  expect(creates(here.github)).toBe(0)
  const anchor = (await here.deliveries()).find(({ name }) => name === 'anchor')
  expect(anchor).toMatchObject({ status: 'PENDING', wait: 'held', errorCode: 'unverified_marker' })
})

it('without its key, a held comment can be deleted and retried, as why says', async () => {
  const here = await openWorld({ youngThread: false })
  world = here
  const marker = `<!-- holdfast:1 0ldkey ${anchorMarkerKey} ${'x'.repeat(43)} -->`
  const old = here.github.commentAs('holdfast-bot', repo, 5, `From before.\n\n${marker}`)
  here.startPublisher()
  const claimed = await here.claim()
  await here.time.pass(minute)
  const { id } = (await here.delivery('anchor'))!
  await expect(here.act(here.checkIsOurs(id, String(old.id)))).rejects.toMatchObject({
    code: 'not_ours',
    hint: expect.stringMatching(/keys import.*delete it on GitHub.*retry/) as string,
  })
  const why = await here.act(explain(here.store, id))
  const actions = why.actions.filter(({ command }) => command !== 'holdfast serve')
  const commands = actions.map(({ command }) => command)
  expect(commands).toEqual([
    'holdfast keys import FILE',
    `holdfast deliveries retry ${id}`,
    `holdfast deliveries skip ${id} --reason TEXT`,
  ])
  expect(actions[1]?.text).toMatch(/delete it on GitHub/)
  here.github.deleteCommentAs('octocat', old.id)
  await here.act(here.store.outbox.retry(id, 'operator', null))
  await here.time.pass(minute)
  await here.complete(claimed, 'All is well.')
  await here.time.pass(minute)
  const bodies = here.github.comments(repo, 5).map(({ body }) => body)
  expect(bodies).toEqual([expect.stringContaining('All is well.')])
})
