/**
 * Goal: every store with the keys recognizes the markers: after a rotation, and in a new store that
 * imported the keys of a lost one.
 * Method: the real store, channels and publisher against the simulated GitHub. The first store is
 * lost, and a second one continues with the same GitHub.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import { context, creates, head, hour, minute, openWorld, repo, second } from './world.ts'

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close()
})

const asApp = { app: true, announcement: { checkName: context } } as const

async function opened(beside?: World): Promise<World> {
  const world = await openWorld({ ...asApp, ...(beside !== undefined && { beside }) })
  worlds.push(world)
  return world
}

/** A store that has shown a run and is then lost. */
async function lost(): Promise<World> {
  const first = await opened()
  first.startPublisher()
  await first.claim()
  await first.time.pass(5 * second)
  await first.act(first.stopPublishers())
  return first
}

const bodies = ({ github }: World) => github.comments(repo, 5).map(({ body }) => body)

it('a new store with the keys of a lost one adopts its anchor and its check run', async () => {
  const first = await lost()
  const keys = await first.act(first.store.outbox.exportMarkerKeys('test'))
  const next = await opened(first)
  await next.act(next.store.outbox.importMarkerKeys(keys, 'test'))
  next.startPublisher()
  await next.complete(await next.claim(), 'The result.')
  await next.time.pass(hour)
  expect(bodies(next)).toHaveLength(1)
  expect(bodies(next)[0]).toContain('The result.')
  expect(creates(next.github)).toBe(1)
  expect(next.github.checkRuns(repo, head(1))).toMatchObject([{ conclusion: 'success' }])
  const types = (await next.act(next.store.audit.list({}, { limit: 100, cursor: null }))).items
  expect(types.map(({ type }) => type)).toContain('run.anchor.adopted')
})

it('what was held before the import of the keys is looked for again, and adopted', async () => {
  const first = await lost()
  const next = await opened(first)
  next.startPublisher()
  const claimed = await next.claim()
  await next.time.pass(minute)
  expect(await next.delivery('anchor')).toMatchObject({ wait: 'held' })
  const keys = await first.act(first.store.outbox.markerKeys())
  await next.act(next.store.outbox.importMarkerKeys(keys, 'test'))
  await next.complete(claimed, 'The result.')
  await next.time.pass(minute)
  expect(bodies(next)).toHaveLength(1)
  expect(bodies(next)[0]).toContain('The result.')
})

it('after a rotation the new key signs, and the old key still verifies', async () => {
  const here = await opened()
  here.startPublisher()
  const claimed = await here.claim()
  await here.time.pass(5 * second)
  const idsOf = (keys: readonly { id: string }[]) => keys.map(({ id }) => id)
  const [before = 'none', ...others] = idsOf(await here.act(here.store.outbox.markerKeys()))
  const rotated = idsOf(await here.act(here.store.outbox.rotateMarkerKey('test')))
  const [current = 'none', ...more] = rotated.filter((id) => id !== before)
  expect([others, more]).toEqual([[], []])
  expect(bodies(here)[0]).toContain(`holdfast:1 ${before} `)
  const { faults } = here.github
  const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}'
  faults.add({ on: { route, times: 1 }, fault: faults.serverError(502) })
  await here.complete(claimed, 'The result.')
  await here.time.pass(hour)
  expect(bodies(here)).toHaveLength(1)
  expect(bodies(here)[0]).toContain('The result.')
  expect(bodies(here)[0]).toContain(`holdfast:1 ${current} `)
})
