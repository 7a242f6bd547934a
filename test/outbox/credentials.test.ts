/**
 * Goal: credentials that GitHub refuses fail nothing: what is to be published waits, and is sent
 * when they are right again. Nobody waits for what only another was refused.
 * Method: a publisher with a wrong token, then one with the right one; a GitHub that is ill or
 * limits us when it is asked who we are.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import {
  baseSha,
  context,
  head,
  hour,
  minute,
  openWorld,
  reads,
  received,
  repo,
  second,
} from './world.ts'

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

it('a repository where the App is not installed stops no other of its account', async () => {
  world = await openWorld({ app: true, announcement: { anchorPer: null } })
  const { github, time, store, now } = world
  await world.claim(2, { repo: 'acme/typo' })
  await time.pass(second)
  world.startPublisher()
  await time.pass(2 * second)
  await world.claim(1)
  await time.pass(3 * second)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('pending')
  const blocked = (await now(store.outbox.budgets())).filter((each) => each.blockedUntil !== null)
  expect(blocked.map(({ identity, blockedReason }) => [identity, blockedReason])).toEqual([
    ['github:app:12:acme/typo', 'not_installed'],
  ])
})

it('a repository that the App loses while it is written to stops no other', async () => {
  world = await openWorld({ app: true, announcement: { anchorPer: null } })
  const { github, time } = world
  github.addRepository('acme/other')
  github.addPull('acme/other', { number: 5, headSha: head(2), baseSha, createdAt: time.wallMs() })
  world.startPublisher()
  const lost = await world.claim(1)
  await world.claim(2, { repo: 'acme/other' })
  await time.pass(5 * second)
  // Its token is refused, and a new one can no longer be had for that repository.
  const { id } = github.repository(repo)
  const times = 10
  const gone = github.faults.refuse(404)
  github.expireTokens()
  const route = new RegExp(`^GET /repositories/${id}/installation`)
  github.faults.add({ on: { route, times }, fault: gone })
  await world.complete(lost)
  await time.pass(5 * second)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('pending')
  await world.claim(3, { repo: 'acme/other' })
  await time.pass(5 * second)
  expect(github.latestStatus('acme/other', head(3), context)?.state).toBe('pending')
})

it('a refusal whose cause GitHub cannot tell at the moment fails nothing', async () => {
  world = await openWorld({ announcement: { anchorPer: null } })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  const { faults } = github
  const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
  faults.add({ on: { route, times: 1 }, fault: faults.refuse(401) })
  faults.add({ on: { route: 'GET /user', times: 1 }, fault: faults.serverError(503) })
  await world.complete(claimed)
  await time.pass(minute)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
})

it('an installation whose new tokens are refused waits, and fails nothing', async () => {
  world = await openWorld({ app: true, announcement: { anchorPer: null } })
  const { github, time, store, now } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
  github.faults.add({ on: { route, times: 2 }, fault: github.faults.refuse(401) })
  await world.complete(claimed)
  await time.pass(5 * second)
  expect(await world.delivery('status')).toMatchObject({ status: 'PENDING', wait: 'budget' })
  const blocked = (await now(store.outbox.budgets())).filter((each) => each.blockedUntil !== null)
  expect(blocked.map(({ identity, blockedReason }) => [identity, blockedReason])).toEqual([
    [expect.stringMatching(/^github:installation:/), 'unauthorized'],
  ])
  await time.pass(2 * minute)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
})

it('a limit on the question who we are is kept in the store, and can be lifted', async () => {
  world = await openWorld({ announcement: { anchorPer: null } })
  const { github, time, store, now } = world
  const limit = github.faults.refuse(403, { message: 'x' }, { 'retry-after': '2000000' })
  github.faults.add({ on: { route: 'GET /user', times: 1 }, fault: limit })
  const first = world.startPublisher()
  await world.claim()
  await time.pass(minute)
  const [budget] = await now(store.outbox.budgets())
  expect(budget).toMatchObject({ identity: 'github:user', blockedReason: 'rate_limited' })
  expect(await world.delivery('status')).toMatchObject({ status: 'PENDING', wait: 'budget' })
  // Nor does the next process ask before its time.
  await now(first.stop())
  world.startPublisher()
  await world.claim(2)
  await time.pass(minute)
  expect(received(github, 'GET', '/user')).toBe(1)
  await now(store.outbox.unblock('github:user', 'operator', null))
  await time.pass(5 * second)
  expect(await world.delivery('status')).toMatchObject({ status: 'SENT' })
})

it('a limit on the question where the App is installed is heard once, and kept', async () => {
  world = await openWorld({ app: true, announcement: { anchorPer: null } })
  const { github, time, store, now } = world
  const limit = github.faults.refuse(429, { message: 'x' }, { 'retry-after': '3000' })
  github.faults.add({ on: { route: /^GET .*\/installation$/, times: 50 }, fault: limit })
  world.startPublisher()
  for (let n = 1; n <= 10; n += 1) await world.claim(n, { repo: `acme/number-${n}` })
  await time.pass(minute)
  expect(received(github, 'GET', '/installation')).toBeLessThanOrEqual(7)
  const blocked = (await now(store.outbox.budgets())).filter((each) => each.blockedUntil !== null)
  expect(blocked.map(({ identity, blockedReason }) => [identity, blockedReason])).toEqual([
    ['github:app:12', 'rate_limited'],
  ])
})

it('an installation that has used up its hour keeps no other from beginning', async () => {
  world = await openWorld({ app: true, announcement: { anchorPer: null } })
  const { github, time } = world
  github.addRepository('other/one')
  github.addPull('other/one', { number: 5, headSha: head(2), baseSha, createdAt: time.wallMs() })
  const limit = github.faults.refuse(403, { message: 'x' }, { 'retry-after': '3000' })
  // Nor do two: then it is asked as a stranger.
  github.faults.add({ on: { route: 'GET /users/{username}', times: 2 }, fault: limit })
  world.startPublisher()
  await world.claim(2, { repo: 'other/one' })
  await time.pass(5 * second)
  expect(github.latestStatus('other/one', head(2), context)?.state).toBe('pending')
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
  const audit = await now(store.audit.list({ type: 'operator.identity_unblocked' }, page))
  expect(audit.items.map(({ actor, data }) => [actor, data['identity']])).toEqual([
    ['operator', 'github:user'],
  ])
  await expect(now(store.outbox.unblock('nobody', 'operator', null))).rejects.toMatchObject({
    code: 'identity_not_found',
  })
})
