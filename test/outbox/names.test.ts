/**
 * Goal: equal or changed names cause no confusion: names of a run's own outputs, of labels, and two
 * names of one repository.
 * Method: the real store, channels and publisher against the simulated GitHub.
 */
import { createHmac } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import type { Claimed } from '../../src/runs/runs.ts'
import type { World } from './world.ts'
import { context, creates, head, hour, minute, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

async function begun(): Promise<[World, Claimed]> {
  const here = await openWorld()
  world = here
  here.startPublisher()
  const claimed = await here.claim()
  await here.time.pass(5 * second)
  return [here, claimed]
}

describe('names and labels', () => {
  it('a name of the previous round is free in the next', async () => {
    const [here, claimed] = await begun()
    await here.publish(claimed, 'one', 'github-label', { label: 'seen', present: true })
    await here.complete(claimed)
    const again = await here.claim(1, { rerun: true })
    await here.publish(again, 'two', 'github-label', { label: 'seen', present: true })
    await here.publish(again, 'one', 'github-label', { label: 'other', present: true })
    await here.time.pass(minute)
    expect(here.github.labels(repo, 5).toSorted()).toEqual(['other', 'seen'])
  })

  it('a label that somebody removed is set if the next round wants it', async () => {
    const [here, claimed] = await begun()
    await here.publish(claimed, 'label', 'github-label', { label: 'seen', present: true })
    await here.complete(claimed)
    await here.time.pass(minute)
    here.github.unlabelAs('octocat', repo, 5, 'seen')
    const again = await here.claim(1, { rerun: true })
    await here.publish(again, 'label', 'github-label', { label: 'seen', present: true })
    await here.time.pass(minute)
    expect(here.github.labels(repo, 5)).toEqual(['seen'])
  })
})

it('two names of one repository are merged before anything is written twice', async () => {
  const [here] = await begun()
  const now = 'acme/gadgets'
  here.github.rename(repo, now)
  here.github.push(now, 5, head(2))
  const newer = await here.claim(2, { repo: now })
  await here.complete(newer, 'The newer result.')
  await here.time.pass(5 * minute)
  const live = here.github.comments(now, 5)
  expect(live).toHaveLength(1)
  expect(live[0]?.body).toContain('The newer result.')
  expect(creates(here.github)).toBe(1)
  expect(here.github.latestStatus(now, head(1), context)?.state).toBe('error')
  expect(here.github.latestStatus(now, head(2), context)?.state).toBe('success')
})

it('two names of one repository: an existing status is not written again', async () => {
  const [here, claimed] = await begun()
  await here.complete(claimed)
  await here.time.pass(minute)
  const now = 'acme/gadgets'
  here.github.rename(repo, now)
  await here.claim(1, { repo: now })
  await here.time.pass(5 * minute)
  const states = here.github.statuses(now, head(1), context).map(({ state }) => state)
  expect(states).toEqual(['pending', 'success'])
})

describe('what an earlier version left in doubt under another name', () => {
  const now = 'acme/gadgets'

  /** The earlier version signed with our own id of the repository, and did not know GitHub's id. */
  async function sendUnanswered(here: World): Promise<void> {
    const { outbox } = here.store
    const due = await here.act(outbox.lease({ limit: 10, progressMax: 10 }))
    const leased = due.find(({ delivery }) => delivery.name === 'anchor')!
    const { lease, delivery } = leased
    const begun = await here.act(
      outbox.beginAttempt({
        ...{ lease, action: 'create', providerId: null, identity: 'github:user' },
        ...{ versionFence: delivery.versionFence, versionSeq: delivery.versionSeq },
        limits: { spacingMs: 0, perMinute: 0, perHour: 0 },
        isTurn: false,
      }),
    )
    if (begun.result !== 'begun') throw new Error(begun.result)
    const [key] = await here.act(outbox.markerKeys())
    const { repositoryId, thread, markerKey } = delivery
    const signed = JSON.stringify(['holdfast:1', repositoryId, thread, markerKey])
    const signature = createHmac('sha256', key!.secret).update(signed).digest('base64url')
    const body = `Running.\n\n<!-- holdfast:1 ${key!.id} ${markerKey} ${signature} -->`
    here.github.commentAs('holdfast-bot', now, 5, body)
    const trouble = { code: 'unanswered', text: 'no answer' }
    const end = { what: 'in_doubt', trouble, after: null, looks: 2 } as const
    const facts = { httpStatus: null, requestId: null, githubRequestId: null }
    const report = { attempt: begun.attempt, identity: 'github:user', end, ...facts }
    await here.act(outbox.endAttempt(lease, report))
  }

  async function expectOneAnchor(here: World): Promise<void> {
    await here.time.pass(3 * hour)
    const live = here.github.comments(now, 5)
    expect(live).toHaveLength(1)
    expect(live[0]?.body).toContain('The newer result.')
    expect((await here.deliveries()).filter(({ wait }) => wait === 'held')).toEqual([])
  }

  it('the newer run’s comment is found and kept, also beside another one', async () => {
    const [here] = await begun()
    const { id } = here.github.repository(repo)
    here.github.rename(repo, now)
    here.github.push(now, 5, head(2))
    await here.act(here.stopPublishers())
    const newer = await here.claim(2, { repo: now })
    await sendUnanswered(here)
    await here.act(here.store.repositories.learn(now, id, 'now', 'test'))
    here.startPublisher()
    await here.complete(newer, 'The newer result.')
    await expectOneAnchor(here)
  })

  it('the older run’s comment is found, and shows the newer run', async () => {
    const here = await openWorld()
    world = here
    const { id } = here.github.repository(repo)
    here.github.rename(repo, now)
    await here.claim(1)
    await sendUnanswered(here)
    here.github.push(now, 5, head(2))
    await here.act(here.store.repositories.learn(now, id, 'now', 'test'))
    const newer = await here.claim(2, { repo: now })
    await here.act(here.store.repositories.learn(repo, id, 'now', 'test'))
    here.startPublisher()
    await here.complete(newer, 'The newer result.')
    await expectOneAnchor(here)
  })
})
