/**
 * Goal: refused credentials make no delivery fail: deliveries wait, and are sent when the
 * credentials are right again. No account waits because another was refused.
 * Method: a publisher with a wrong token, then one with the right token; a GitHub that fails or
 * limits us when it is asked for our account.
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

it('a wrong token for a while makes nothing fail, and is tried rarely', async () => {
  world = await openWorld()
  const { github, time, store, act } = world
  const first = world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  await act(first.stop())
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
  const [budget] = await act(store.outbox.budgets())
  expect(budget).toMatchObject({ identity: 'github:user', blockedReason: 'unauthorized' })
  await time.pass(hour)
  expect(asked).toBeLessThan(10)
  await act(wrong.stop())
  world.startPublisher()
  await time.pass(20 * minute)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
  expect((await world.deliveries()).map(({ status }) => status)).toEqual(['SENT', 'SENT'])
})

it('a token that is revoked while we publish makes nothing fail', async () => {
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

it('a single refused call is final while our account is known', async () => {
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

it('an App that is not installed for a while makes nothing fail', async () => {
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
  const { github, time, store, act } = world
  await world.claim(2, { repo: 'acme/typo' })
  await time.pass(second)
  world.startPublisher()
  await time.pass(2 * second)
  await world.claim(1)
  await time.pass(3 * second)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('pending')
  const blocked = (await act(store.outbox.budgets())).filter((each) => each.blockedUntil !== null)
  expect(blocked.map(({ identity, blockedReason }) => [identity, blockedReason])).toEqual([
    ['github:app:12:acme/typo', 'not_installed'],
  ])
})

it('a repository that the App loses during a write stops no other', async () => {
  world = await openWorld({ app: true, announcement: { anchorPer: null } })
  const { github, time } = world
  github.addRepository('acme/other')
  github.addPull('acme/other', { number: 5, headSha: head(2), baseSha, createdAt: time.wallMs() })
  world.startPublisher()
  const lost = await world.claim(1)
  await world.claim(2, { repo: 'acme/other' })
  await time.pass(5 * second)
  // Its token is refused, and no new token can be created for that repository.
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

it('a refusal whose cause GitHub cannot name at the moment makes nothing fail', async () => {
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

it('an installation whose new tokens are refused waits, and nothing fails', async () => {
  world = await openWorld({ app: true, announcement: { anchorPer: null } })
  const { github, time, store, act } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
  github.faults.add({ on: { route, times: 2 }, fault: github.faults.refuse(401) })
  await world.complete(claimed)
  await time.pass(5 * second)
  expect(await world.delivery('status')).toMatchObject({ status: 'PENDING', wait: 'budget' })
  const blocked = (await act(store.outbox.budgets())).filter((each) => each.blockedUntil !== null)
  expect(blocked.map(({ identity, blockedReason }) => [identity, blockedReason])).toEqual([
    [expect.stringMatching(/^github:installation:/), 'unauthorized'],
  ])
  await time.pass(2 * minute)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
})

it('a limit on the question for our account is stored, and can be lifted', async () => {
  world = await openWorld({ announcement: { anchorPer: null } })
  const { github, time, store, act } = world
  const limit = github.faults.refuse(403, { message: 'x' }, { 'retry-after': '2000000' })
  github.faults.add({ on: { route: 'GET /user', times: 1 }, fault: limit })
  const first = world.startPublisher()
  await world.claim()
  await time.pass(minute)
  const [budget] = await act(store.outbox.budgets())
  expect(budget).toMatchObject({ identity: 'github:user', blockedReason: 'rate_limited' })
  expect(await world.delivery('status')).toMatchObject({ status: 'PENDING', wait: 'budget' })
  // The next process does not ask before the time either.
  await act(first.stop())
  world.startPublisher()
  await world.claim(2)
  await time.pass(minute)
  expect(received(github, 'GET', '/user')).toBe(1)
  await act(store.outbox.unblock('github:user', 'operator', null))
  await time.pass(5 * second)
  expect(await world.delivery('status')).toMatchObject({ status: 'SENT' })
})

it('a limit on the question for the installation is met once, and stored', async () => {
  world = await openWorld({ app: true, announcement: { anchorPer: null } })
  const { github, time, store, act } = world
  const limit = github.faults.refuse(429, { message: 'x' }, { 'retry-after': '3000' })
  github.faults.add({ on: { route: /^GET .*\/installation$/, times: 50 }, fault: limit })
  world.startPublisher()
  for (let n = 1; n <= 10; n += 1) await world.claim(n, { repo: `acme/number-${n}` })
  await time.pass(minute)
  expect(received(github, 'GET', '/installation')).toBeLessThanOrEqual(7)
  const blocked = (await act(store.outbox.budgets())).filter((each) => each.blockedUntil !== null)
  expect(blocked.map(({ identity, blockedReason }) => [identity, blockedReason])).toEqual([
    ['github:app:12', 'rate_limited'],
  ])
})

it('an installation that used up its hour does not block another one', async () => {
  world = await openWorld({ app: true, announcement: { anchorPer: null } })
  const { github, time } = world
  github.addRepository('other/one')
  github.addPull('other/one', { number: 5, headSha: head(2), baseSha, createdAt: time.wallMs() })
  const limit = github.faults.refuse(403, { message: 'x' }, { 'retry-after': '3000' })
  // Two refusals do not block it either: then GitHub is asked without credentials.
  github.faults.add({ on: { route: 'GET /users/{username}', times: 2 }, fault: limit })
  world.startPublisher()
  await world.claim(2, { repo: 'other/one' })
  await time.pass(5 * second)
  expect(github.latestStatus('other/one', head(2), context)?.state).toBe('pending')
})

it('an operator lifts a block, and what waited is tried at once', async () => {
  world = await openWorld()
  const { github, time, store, act } = world
  world.startPublisher()
  const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
  const limit = github.faults.refuse(403, { message: 'x' }, { 'retry-after': '2000000' })
  github.faults.add({ on: { route, times: 1 }, fault: limit })
  await world.claim()
  await time.pass(minute)
  expect(await world.delivery('status')).toMatchObject({ status: 'PENDING', wait: 'budget' })
  await act(store.outbox.unblock('github:user', 'operator', null))
  await time.pass(5 * second)
  expect(await world.delivery('status')).toMatchObject({ status: 'SENT' })
  const page = { limit: 5, cursor: null }
  const audit = await act(store.audit.list({ type: 'operator.identity_unblocked' }, page))
  expect(audit.items.map(({ actor, data }) => [actor, data['identity']])).toEqual([
    ['operator', 'github:user'],
  ])
  await expect(act(store.outbox.unblock('nobody', 'operator', null))).rejects.toMatchObject({
    code: 'identity_not_found',
  })
})
