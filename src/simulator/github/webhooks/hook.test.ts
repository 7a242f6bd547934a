import { verify } from '@octokit/webhooks-methods'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock, ManualScheduler } from '../../../../test/github/github-under-test.ts'
import { startReceiver, type Receiver } from '../../../../test/simulator/receiver.ts'
import { systemRandom } from '../../../random.ts'
import { createDeliveryLog, type DeliveryLog } from './delivery-log.ts'
import { newGuid } from './guid.ts'
import { createHook, type WebhookEvent, type Hook } from './hook.ts'
import { seededChance } from '../../../../test/seed.ts'

const secret = 'a secret'
const everything = { perPage: 100, cursor: null, status: null }
let clock: ManualClock
let scheduler: ManualScheduler
let log: DeliveryLog
let receiver: Receiver
let hook: Hook

beforeEach(async () => {
  clock = new ManualClock()
  scheduler = new ManualScheduler()
  log = createDeliveryLog(clock)
  receiver = await startReceiver()
  hook = hookTo(receiver.url)
})
afterEach(() => receiver.close())

function hookTo(url: string, id = 7): Hook {
  const target = { type: 'integration', id: 12 } as const
  return createHook({
    id,
    url,
    secret,
    target,
    log,
    fetch,
    clock,
    scheduler,
    random: seededChance(),
  })
}

function news(action: string, event = 'pull_request'): WebhookEvent {
  const guid = newGuid(systemRandom)
  const payload = { action, number: 1, title: 'Ünïcode' }
  return { guid, event, action, repositoryId: 5, installationId: 9, payload }
}

const deliveries = () => receiver.received.map(({ summary }) => summary)

describe('a delivery', () => {
  it('has the headers of GitHub and a signature that verifies', async () => {
    const announcement = news('opened')
    hook.sendEvent(announcement)
    await hook.idle()
    const { headers, body } = receiver.received[0]!
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-github-delivery': announcement.guid,
      'x-github-event': 'pull_request',
      'x-github-hook-id': '7',
      'x-github-hook-installation-target-id': '12',
      'x-github-hook-installation-target-type': 'integration',
    })
    expect(headers['user-agent']).toMatch(/^GitHub-Hookshot\//)
    expect(announcement.guid).toMatch(
      /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
    )
    expect(await verify(secret, body, String(headers['x-hub-signature-256']))).toBe(true)
    expect(JSON.parse(body)).toEqual(announcement.payload)
  })

  it('is logged with its request and its answer', async () => {
    hook.sendEvent(news('opened'))
    await hook.idle()
    expect(log.all()).toHaveLength(1)
    expect(log.all()[0]).toMatchObject({
      ...{ status: 'OK', statusCode: 202, responseBody: '{}', redelivery: false },
      ...{ event: 'pull_request', action: 'opened', repositoryId: 5, installationId: 9 },
    })
  })

  it('arrives in the order of events', async () => {
    const actions = Array.from({ length: 20 }, (_, n) => `step-${n}`)
    for (const action of actions) hook.sendEvent(news(action))
    await hook.idle()
    expect(deliveries()).toEqual(actions.map((action) => `pull_request ${action}`))
  })

  it('that is refused is logged as failed and not repeated', async () => {
    receiver.answer = (response) => response.writeHead(503).end('not now')
    hook.sendEvent(news('opened'))
    await hook.idle()
    expect(receiver.received).toHaveLength(1)
    expect(log.all()).toMatchObject([
      { status: 'Invalid HTTP Response: 503', statusCode: 503, responseBody: 'not now' },
    ])
  })

  it('does not follow a redirect', async () => {
    receiver.answer = (response) => response.writeHead(302, { location: receiver.url }).end()
    hook.sendEvent(news('opened'))
    await hook.idle()
    expect(receiver.received).toHaveLength(1)
    expect(log.all()).toMatchObject([{ statusCode: 302, status: 'Invalid HTTP Response: 302' }])
  })

  it('without an answer in ten seconds is cut off, and the next one is sent', async () => {
    const cut = new Promise<void>((resolve) => {
      receiver.answer = (response) => {
        response.on('close', resolve)
        receiver.answer = (next) => next.writeHead(200).end()
        expect([...scheduler.timers.values()]).toEqual([10_000])
        clock.pass(10_000)
        scheduler.fire()
      }
    })
    hook.sendEvent(news('opened'))
    hook.sendEvent(news('closed'))
    await cut
    await hook.idle()
    expect(deliveries()).toEqual(['pull_request opened', 'pull_request closed'])
    expect(log.all()).toMatchObject([
      { status: 'timed out', statusCode: 0, durationMs: 10_000 },
      { status: 'OK' },
    ])
    expect(scheduler.timers.size).toBe(0)
  })

  it('to a closed port is logged as not connected', async () => {
    await receiver.close()
    hook.sendEvent(news('opened'))
    await hook.idle()
    expect(log.all()).toMatchObject([{ status: 'failed to connect to host', statusCode: 0 }])
    receiver = await startReceiver()
  })
})

describe('a webhook fault', () => {
  it('sends a delivery twice with one GUID', async () => {
    hook.addFault({ fault: 'duplicate' })
    hook.sendEvent(news('opened'))
    await hook.idle()
    expect(deliveries()).toEqual(['pull_request opened', 'pull_request opened'])
    expect(new Set(receiver.received.map(({ guid }) => guid)).size).toBe(1)
  })

  it('sends one event under two GUIDs', async () => {
    hook.addFault({ fault: 'duplicate-new-guid' })
    hook.sendEvent(news('opened'))
    await hook.idle()
    const [first, second] = receiver.received
    expect(first?.body).toBe(second?.body)
    expect(first?.guid).not.toBe(second?.guid)
  })

  it('drops a delivery and logs it as failed, so that it can be redelivered', async () => {
    hook.addFault({ fault: 'drop', action: 'synchronize' })
    for (const action of ['opened', 'synchronize', 'closed']) hook.sendEvent(news(action))
    await hook.idle()
    expect(deliveries()).toEqual(['pull_request opened', 'pull_request closed'])
    const dropped = log.all().find(({ action }) => action === 'synchronize')
    expect(dropped).toMatchObject({ status: 'failed to connect to host', statusCode: 0 })
    expect(hook.redeliver(dropped?.id ?? 0)).toBe(true)
    await hook.idle()
    expect(receiver.received.at(-1)).toMatchObject({ guid: dropped?.guid, body: dropped?.body })
    expect(log.all().at(-1)).toMatchObject({ redelivery: true, status: 'OK' })
  })

  it('drops a delivery without logging it', async () => {
    hook.addFault({ fault: 'drop-unlogged' })
    hook.sendEvent(news('opened'))
    await hook.idle()
    expect(receiver.received).toEqual([])
    expect(log.all()).toEqual([])
  })

  it('holds a delivery until released, while later ones overtake it', async () => {
    hook.addFault({ fault: 'hold', times: 2 })
    for (const action of ['opened', 'edited', 'closed']) hook.sendEvent(news(action))
    await hook.idle()
    expect(deliveries()).toEqual(['pull_request closed'])
    expect(hook.held.map(({ action }) => action)).toEqual(['opened', 'edited'])
    hook.release('newest first')
    await hook.idle()
    expect(deliveries().slice(1)).toEqual(['pull_request edited', 'pull_request opened'])
    expect(hook.held).toEqual([])
  })

  it('delays a delivery by the scheduler; the hook is not idle before', async () => {
    hook.addFault({ fault: { lateMs: 60_000 }, event: 'issues' })
    hook.sendEvent(news('opened', 'issues'))
    hook.sendEvent(news('opened'))
    let isIdle = false
    const waiting = hook.idle().then(() => (isIdle = true))
    await expect.poll(() => log.all().length).toBe(1)
    expect([deliveries(), isIdle]).toEqual([['pull_request opened'], false])
    expect([...scheduler.timers.values()]).toEqual([60_000])
    scheduler.fire()
    await waiting
    expect(deliveries()).toEqual(['pull_request opened', 'issues opened'])
  })

  it('hits as many deliveries as it says, and only those it names', async () => {
    hook.addFault({ fault: 'drop', event: 'issues', times: 2 })
    for (let n = 0; n < 3; n++) hook.sendEvent(news('opened', 'issues'))
    hook.sendEvent(news('opened'))
    await hook.idle()
    expect(deliveries()).toEqual(['issues opened', 'pull_request opened'])
  })
})

describe('the delivery log', () => {
  it('has pages per hook, newest first', async () => {
    const other = hookTo(receiver.url, 8)
    for (let n = 0; n < 5; n++) hook.sendEvent(news(`step-${n}`))
    other.sendEvent(news('elsewhere'))
    await Promise.all([hook.idle(), other.idle()])
    const first = log.page(7, { ...everything, perPage: 3 })
    const next = log.page(7, { ...everything, perPage: 3, cursor: first.nextCursor })
    const actions = [...first.items, ...next.items].map(({ action }) => action)
    expect(actions).toEqual(['step-4', 'step-3', 'step-2', 'step-1', 'step-0'])
    expect(next.nextCursor).toBeNull()
    expect(log.page(7, { ...everything, cursor: 'nonsense' }).items).toEqual([])
    expect(log.page(8, everything).items).toHaveLength(1)
    expect(other.redeliver(first.items[0]?.id ?? 0)).toBe(false)
  })

  it('filters by status code; a delivery without an answer is neither', async () => {
    hook.addFault({ fault: 'drop' })
    for (const action of ['dropped', 'taken']) hook.sendEvent(news(action))
    await hook.idle()
    receiver.answer = (response) => response.writeHead(500).end()
    hook.sendEvent(news('refused'))
    await hook.idle()
    const actions = (status: 'success' | 'failure') =>
      log.page(7, { ...everything, status }).items.map(({ action }) => action)
    expect([actions('success'), actions('failure')]).toEqual([['taken'], ['refused']])
  })

  it('is kept for three days', async () => {
    hook.sendEvent(news('opened'))
    await hook.idle()
    const [{ id } = { id: 0 }] = log.all()
    clock.pass(3 * 24 * 3_600_000)
    expect(log.find(7, id)).not.toBeNull()
    clock.pass(1)
    expect(log.find(7, id)).toBeNull()
    expect(hook.redeliver(id)).toBe(false)
  })
})
