/**
 * Goal: outputs go to their repository, whoever has its name now.
 * Method: the real store, channels and publisher against the simulated GitHub, where the repository
 * is renamed and another one takes its name.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { World, WorldOptions } from './world.ts'
import {
  baseSha,
  context,
  creates,
  head,
  hour,
  minute,
  openWorld,
  repo,
  second,
  warnings,
} from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

async function opened(options: WorldOptions = {}): Promise<World> {
  world = await openWorld(options)
  world.startPublisher()
  return world
}

const legacy = 'acme/widgets-legacy'

/** The repository is renamed, and another one with the same pull request takes its name. */
function giveNameAway({ github, time }: World): void {
  github.rename(repo, legacy)
  github.addRepository(repo)
  github.addPull(repo, { number: 5, headSha: head(7), baseSha, createdAt: time.wallMs() })
}

const shown = ({ github }: World, name: string) => github.comments(name, 5).map(({ body }) => body)

function expectAllInOldPlace(here: World, text: string): void {
  expect(shown(here, repo)).toEqual([])
  expect(here.github.statuses(repo, head(1))).toEqual([])
  const bodies = shown(here, legacy)
  expect(bodies).toHaveLength(1)
  expect(bodies[0]).toContain(text)
  expect(here.github.latestStatus(legacy, head(1), context)?.state).toBe('success')
}

describe('a name that another repository has taken', () => {
  it('without an event: the result goes to the repository that shows the run', async () => {
    const here = await opened()
    const claimed = await here.claim()
    await here.time.pass(5 * second)
    giveNameAway(here)
    await here.complete(claimed, 'A private result.')
    await here.time.pass(hour)
    expectAllInOldPlace(here, 'A private result.')
  })

  it('with an event of the new id: the result still goes to the first repository', async () => {
    const here = await opened()
    const claimed = await here.claim()
    await here.time.pass(5 * second)
    giveNameAway(here)
    await here.act(
      here.store.repositories.learn(repo, here.github.repository(repo).id, 'now', 'test'),
    )
    await here.complete(claimed, 'A private result.')
    await here.time.pass(hour)
    expectAllInOldPlace(here, 'A private result.')
  })

  it('with an event of the id before the first write: nothing is written by name', async () => {
    const here = await openWorld()
    world = here
    await here.act(
      here.store.repositories.learn(repo, here.github.repository(repo).id, 'now', 'test'),
    )
    const claimed = await here.claim()
    giveNameAway(here)
    here.startPublisher()
    await here.time.pass(5 * second)
    await here.complete(claimed, 'A private result.')
    await here.time.pass(hour)
    expectAllInOldPlace(here, 'A private result.')
    expect(here.github.count('GET /repos/{owner}/{repo}')).toBe(0)
  })

  it('a removed comment is recreated where it was', async () => {
    const here = await opened()
    const claimed = await here.claim()
    await here.time.pass(5 * second)
    here.github.deleteCommentAs('octocat', here.github.comments(repo, 5)[0]?.id ?? 0)
    giveNameAway(here)
    await here.complete(claimed, 'A private result.')
    await here.time.pass(hour)
    expectAllInOldPlace(here, 'A private result.')
  })

  it('the old repository is deleted: its deliveries fail, and nothing is shown', async () => {
    const here = await opened()
    const claimed = await here.claim()
    await here.time.pass(5 * second)
    giveNameAway(here)
    here.github.restrict(legacy)
    await here.complete(claimed, 'A private result.')
    await here.time.pass(hour)
    expect(shown(here, repo)).toEqual([])
    expect(here.github.statuses(repo, head(1))).toEqual([])
    const failed = await here.delivery('anchor')
    expect(failed).toMatchObject({ status: 'FAILED', reason: 'not_found' })
    expect(warnings.join('')).toContain(`holdfast why ${failed?.id}`)
  })
})

describe('the id of a repository', () => {
  it('is read once for all due deliveries, and stored for the next publisher', async () => {
    const here = await opened({ app: true, announcement: { checkName: context } })
    const claimed = await here.claim()
    await here.time.pass(5 * second)
    const named = 'GET /repos/{owner}/{repo}'
    expect(here.github.count(named)).toBe(1)
    here.startPublisher()
    await here.complete(claimed)
    await here.time.pass(minute)
    expect(here.github.count(named)).toBe(1)
    expect(here.github.checkRuns(repo, head(1))).toMatchObject([{ conclusion: 'success' }])
  })

  it('that cannot be read yet is asked for again, and nothing is written until then', async () => {
    const here = await openWorld()
    world = here
    const { faults } = here.github
    const named = 'GET /repos/{owner}/{repo}'
    faults.add({ on: { route: named, times: 4 }, fault: faults.serverError(502) })
    here.startPublisher()
    await here.claim()
    await here.time.pass(second)
    expect(creates(here.github)).toBe(0)
    await here.time.pass(minute)
    expect(creates(here.github)).toBe(1)
    expect(shown(here, repo)).toHaveLength(1)
  })

  it('is not asked for while GitHub limits us', async () => {
    const here = await openWorld()
    world = here
    const { faults } = here.github
    const named = 'GET /repos/{owner}/{repo}'
    faults.add({
      on: { route: named, times: 1 },
      fault: faults.secondaryLimit({ retryAfterSeconds: 300 }),
    })
    here.startPublisher()
    await here.claim()
    await here.time.pass(4 * minute)
    expect(here.github.count(named)).toBe(1)
    await here.time.pass(2 * minute)
    expect(here.github.count(named)).toBe(2)
    expect(shown(here, repo)).toHaveLength(1)
  })
})

describe('an id that only a program beside the server gave', () => {
  const fork = 'mallory/widgets'
  const named = 'GET /repos/{owner}/{repo}'

  /** A caller's mistake: the repository's name with the id of the fork that has the head. */
  async function openedWithFork() {
    const here = await openWorld({ library: true })
    world = here
    here.github.addRepository(fork)
    here.github.addPull(fork, { number: 5, headSha: head(1), baseSha, createdAt: here.createdAt })
    return { here, forkId: here.github.repository(fork).id }
  }

  function expectNothingThere({ github }: World): void {
    for (const name of [repo, fork]) {
      expect(github.comments(name, 5)).toEqual([])
      expect(github.statuses(name, head(1))).toEqual([])
    }
  }

  it('that GitHub knows under another name fails, and nothing is written', async () => {
    const { here, forkId } = await openedWithFork()
    here.startPublisher()
    const claimed = await here.claim(1, { repoId: forkId })
    await here.time.pass(5 * second)
    await here.complete(claimed, 'A private result.')
    await here.time.pass(hour)
    expectNothingThere(here)
    const failed = { status: 'FAILED', reason: 'wrong_repository' }
    expect(await here.delivery('anchor')).toMatchObject(failed)
    expect(await here.delivery('status')).toMatchObject(failed)
  })

  it('also fails if Holdfast learned the other name meanwhile', async () => {
    const { here, forkId } = await openedWithFork()
    const claimed = await here.claim(1, { repoId: forkId })
    await here.act(here.store.repositories.learn(fork, forkId, 'now', 'github'))
    here.startPublisher()
    await here.complete(claimed, 'A private result.')
    await here.time.pass(hour)
    expectNothingThere(here)
    const own = await here.claim(1, { repo: fork, repoId: forkId })
    expect(own).toMatchObject({ shouldProcess: false })
    const next = await here.claim(2, { repo: fork, repoId: forkId })
    await here.complete(next, 'The fork’s own result.')
    await here.time.pass(hour)
    expect(shown(here, fork)).toHaveLength(1)
    expect(shown(here, fork)[0]).not.toContain('A private result.')
    expect(shown(here, repo)).toEqual([])
  })

  it('can be retried once GitHub uses the same name', async () => {
    const { here, forkId } = await openedWithFork()
    here.startPublisher()
    const claimed = await here.claim(1, { repoId: forkId })
    await here.complete(claimed, 'The result.')
    await here.time.pass(minute)
    expect(await here.delivery('anchor')).toMatchObject({ reason: 'wrong_repository' })
    here.github.rename(repo, legacy)
    here.github.rename(fork, repo)
    for (const { id } of await here.deliveries()) {
      await here.act(here.store.outbox.retry(id, 'me', null))
    }
    await here.time.pass(hour)
    expect(shown(here, repo)[0]).toContain('The result.')
    expect(shown(here, legacy)).toEqual([])
  })

  it('does not affect callers that claim by the name alone', async () => {
    const { here, forkId } = await openedWithFork()
    const claimed = await here.claim(1)
    await here.claim(2, { pr: 6, repoId: forkId })
    here.startPublisher()
    await here.complete(claimed, 'The result.')
    await here.time.pass(hour)
    expect(shown(here, repo)[0]).toContain('The result.')
    expect(here.github.comments(fork, 5)).toEqual([])
  })

  it('that is right is read once, and then written to', async () => {
    const here = await opened({ library: true })
    const claimed = await here.claim(1, { repoId: here.github.repository(repo).id })
    await here.time.pass(5 * second)
    await here.complete(claimed, 'The result.')
    await here.time.pass(minute)
    expect(shown(here, repo)[0]).toContain('The result.')
    expect(here.github.count(named)).toBe(1)
  })

  it('under an earlier name of the repository is also right', async () => {
    const here = await opened({ library: true })
    const claimed = await here.claim(1, { repoId: here.github.repository(repo).id })
    here.github.rename(repo, legacy)
    await here.complete(claimed, 'The result.')
    await here.time.pass(minute)
    expect(shown(here, legacy)[0]).toContain('The result.')
  })

  it('is not read if GitHub has confirmed it', async () => {
    const here = await openWorld({ library: true })
    world = here
    const repoId = here.github.repository(repo).id
    await here.claim(1, { repoId })
    await here.act(here.store.repositories.learn(repo, repoId, here.time.wallMs(), 'github'))
    here.startPublisher()
    await here.time.pass(minute)
    expect(shown(here, repo)).toHaveLength(1)
    expect(here.github.count(named)).toBe(0)
  })
})
