/**
 * Goal: credentials that GitHub refuses fail nothing: what is to be published waits, and is sent
 * when they are right again. Method: a publisher with a wrong token, then one with the right one.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import { context, head, hour, minute, openWorld, reads, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const refused: typeof fetch = () => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ message: 'Bad credentials' })
  return Promise.resolve(new Response(body, { status: 401, headers }))
}

it('a wrong token for a while fails nothing, and is not tried again and again', async () => {
  world = await openWorld()
  const { github, time, store, now } = world
  const first = world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  await now(first.stop())
  await world.complete(claimed)
  let asked = 0
  const wrong = world.startPublisher((...call) => {
    asked += 1
    return refused(...call)
  })
  await time.pass(10 * second)
  expect(asked).toBe(1)
  const waiting = await world.deliveries()
  expect(waiting.map(({ status, wait }) => [status, wait])).toEqual([
    ['PENDING', 'budget'],
    ['PENDING', 'budget'],
  ])
  const [budget] = await now(store.outbox.budgets())
  expect(budget).toMatchObject({ identity: 'github:user', blockedReason: 'unauthorized' })
  await time.pass(hour)
  expect(asked).toBeLessThan(10)
  await now(wrong.stop())
  world.startPublisher()
  await time.pass(20 * minute)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
  expect((await world.deliveries()).map(({ status }) => status)).toEqual(['SENT', 'SENT'])
})

it('a token that is revoked while we publish fails nothing', async () => {
  world = await openWorld()
  const { github, time } = world
  let revoked = false
  world.startPublisher((...call) => (revoked ? refused(...call) : github.fetch(...call)))
  const claimed = await world.claim()
  await time.pass(5 * second)
  revoked = true
  await world.complete(claimed)
  await time.pass(10 * minute)
  const waiting = await world.deliveries()
  expect(waiting.map(({ status }) => status)).toEqual(['PENDING', 'PENDING'])
  revoked = false
  await time.pass(20 * minute)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
})

it('one call that is refused while we are known is final', async () => {
  world = await openWorld()
  const { github, time } = world
  world.startPublisher()
  const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
  github.faults.add({ on: { route, times: 1 }, fault: github.faults.refuse(401) })
  await world.claim()
  await time.pass(10 * second)
  const failed = { status: 'FAILED', reason: 'unauthorized' }
  expect(await world.delivery('status')).toMatchObject(failed)
})

it('an App that is not installed there for a while fails nothing', async () => {
  world = await openWorld({ app: true })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  github.uninstallApp('acme')
  await world.complete(claimed)
  await time.pass(10 * minute)
  const before = reads(github)
  await time.pass(hour)
  expect(reads(github) - before).toBeLessThan(20)
  expect((await world.deliveries()).map(({ status }) => status)).toEqual(['PENDING', 'PENDING'])
})

it('an operator lifts a block, and what waited is tried at once', async () => {
  world = await openWorld()
  const { github, time, store, now } = world
  world.startPublisher()
  const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
  const limit = github.faults.refuse(403, { message: 'x' }, { 'retry-after': '2000000' })
  github.faults.add({ on: { route, times: 1 }, fault: limit })
  await world.claim()
  await time.pass(minute)
  expect(await world.delivery('status')).toMatchObject({ status: 'PENDING', wait: 'budget' })
  await now(store.outbox.unblock('github:user', 'operator', null))
  await time.pass(5 * second)
  expect(await world.delivery('status')).toMatchObject({ status: 'SENT' })
  const page = { limit: 5, cursor: null }
  const told = await now(store.listAudit({ type: 'operator.identity_unblocked' }, page))
  expect(told.items.map(({ actor, data }) => [actor, data['identity']])).toEqual([
    ['operator', 'github:user'],
  ])
  await expect(now(store.outbox.unblock('nobody', 'operator', null))).rejects.toMatchObject({
    code: 'identity_not_found',
  })
})
