/**
 * Goal: names mix nothing up: those a run gives its own output, those of labels, and two names of
 * one repository.
 * Method: the real store, channels and publisher against the simulated GitHub.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Claimed } from '../../src/runs/runs.ts'
import type { World } from './world.ts'
import { context, creates, head, minute, openWorld, repo, second } from './world.ts'

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
  it('a name of the round before is free in the next', async () => {
    const [here, claimed] = await begun()
    await here.publish(claimed, 'one', 'github-label', { label: 'seen', present: true })
    await here.complete(claimed)
    const again = await here.claim(1, { rerun: true })
    await here.publish(again, 'two', 'github-label', { label: 'seen', present: true })
    await here.publish(again, 'one', 'github-label', { label: 'other', present: true })
    await here.time.pass(minute)
    expect(here.github.labels(repo, 5).toSorted()).toEqual(['other', 'seen'])
  })

  it('a label that somebody took off is set when the next round says so', async () => {
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

it('two names of one repository: they are one before anything is written there twice', async () => {
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
