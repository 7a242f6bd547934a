/**
 * Goal: every retry and every wait has a limit: for deliveries that are still to be sent, and for
 * those that are read again afterwards.
 * Method: the real limits of days are minutes here, under a clock that the test moves.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import { hour, minute, openWorld, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

/** Like the real limits, but shorter. */
const rules = { deadlineMs: { state: 10 * minute, message: 30 * minute }, openMsMax: hour }

it('a sent comment that cannot be read is not read again after its deadline', async () => {
  world = await openWorld({ app: true, rules })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}'
  github.faults.add({ on: { route }, fault: github.faults.lostAnswer() })
  await world.report(claimed, 'half way')
  await time.pass(4 * second)
  await world.complete(claimed)
  await time.pass(5 * second)
  github.uninstallApp('acme')
  await time.pass(20 * minute)
  const before = github.requests.length
  await time.pass(3 * hour)
  expect(github.requests.length - before).toBe(0)
  const anchor = await world.delivery('anchor')
  expect(anchor).toMatchObject({ status: 'SENT', dueAt: null, protocol: { unsettled: true } })
  const { store, act } = world
  const { items } = await act(
    store.audit.list({ type: 'delivery.settled' }, { limit: 10, cursor: null }),
  )
  expect(items.map(({ data }) => [data['reason'], data['shows']])).toEqual([['deadline', null]])
})

it('a block of 23 days is obeyed, and what waits for it fails at its deadline', async () => {
  world = await openWorld({ rules })
  const { github, time } = world
  world.startPublisher()
  const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
  const limit = github.faults.refuse(403, { message: 'x' }, { 'retry-after': '2000000' })
  github.faults.add({ on: { route, times: 1 }, fault: limit })
  const claimed = await world.claim()
  await time.pass(5 * second)
  await world.complete(claimed)
  const asked = github.requests.length
  await time.pass(50 * minute)
  const waiting = await world.deliveries()
  expect(waiting.map(({ status, wait }) => [status, wait])).toEqual([
    ['PENDING', 'budget'],
    ['PENDING', 'budget'],
  ])
  await time.pass(20 * minute)
  const given = await world.deliveries()
  expect(given.map(({ status, reason }) => [status, reason])).toEqual([
    ['FAILED', 'deadline'],
    ['FAILED', 'deadline'],
  ])
  expect(github.requests).toHaveLength(asked)
})
