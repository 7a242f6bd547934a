/**
 * A hook sends signed events to an address, one delivery after the other, and records every try.
 * Like GitHub, it never repeats one by itself. Held and late deliveries do not delay the others, so
 * deliveries can overtake each other.
 */
import { createHmac } from 'node:crypto'
import { createWebhookFaults, type WebhookFaultRule } from './webhook-faults.ts'
import type { DeliveryLog, HookDelivery } from './delivery-log.ts'
import { newGuid } from './guid.ts'
import { postDelivery, unanswered, type PostDeps } from './post-delivery.ts'
import type { Random } from '../../../random.ts'

export interface HookTarget {
  /** `integration` is GitHub's word for an App. */
  readonly type: 'integration' | 'repository'
  readonly id: number
}

export interface HookOptions extends PostDeps {
  readonly id: number
  readonly url: string
  readonly secret: string
  readonly target: HookTarget
  readonly log: DeliveryLog
  readonly random: Random
}

/** An event to send; `payload` becomes the body. */
export interface WebhookEvent {
  readonly guid: string
  readonly event: string
  readonly action: string | null
  readonly repositoryId: number | null
  readonly installationId: number | null
  readonly payload: object
}

export interface HeldDelivery {
  readonly guid: string
  readonly event: string
  readonly action: string | null
}

export interface Hook {
  readonly url: string
  sendEvent(event: WebhookEvent): void
  /** Sends a logged delivery again with its GUID and body; false if there is no such delivery. */
  redeliver(deliveryId: number): boolean
  addFault(rule: WebhookFaultRule): void
  /** Changes the address for all deliveries from now on. */
  moveTo(url: string): void
  /** Oldest first. */
  readonly held: readonly HeldDelivery[]
  /** Sends everything that is held, in the order it was held or in reverse. */
  release(order?: 'oldest first' | 'newest first'): void
  /** Resolves when all deliveries are sent and logged; held ones do not count. */
  idle(): Promise<void>
}

interface Outgoing extends Omit<WebhookEvent, 'payload'> {
  readonly body: string
  readonly redelivery: boolean
}

export function createHook(options: HookOptions): Hook {
  const { log, random, scheduler } = options
  const faults = createWebhookFaults()
  const pending = createPendingWork()
  let held: Outgoing[] = []
  let lastSent: Promise<void> = Promise.resolve()
  let { url } = options

  function send(outgoing: Outgoing): void {
    const done = pending.begin()
    lastSent = lastSent.then(() => deliver({ ...options, url }, outgoing)).then(done)
  }

  function sendLater(outgoing: Outgoing, ms: number): void {
    const done = pending.begin()
    scheduler.after(ms, () => {
      send(outgoing)
      done()
    })
  }

  function sendEvent({ payload, ...about }: WebhookEvent): void {
    const outgoing = { ...about, body: JSON.stringify(payload), redelivery: false }
    const fault = faults.take(about.event, about.action)
    if (fault === 'drop-unlogged') return
    if (fault === 'drop') return void record({ ...options, url }, outgoing, notSent)
    if (fault === 'hold') return void held.push(outgoing)
    if (typeof fault === 'object' && fault !== null) return sendLater(outgoing, fault.lateMs)
    send(outgoing)
    if (fault === 'duplicate') send(outgoing)
    if (fault === 'duplicate-new-guid') send({ ...outgoing, guid: newGuid(random) })
  }

  return {
    get url() {
      return url
    },
    sendEvent,
    redeliver(deliveryId) {
      const first = log.find(options.id, deliveryId)
      if (first === null) return false
      send({ ...first, redelivery: true })
      return true
    },
    addFault: (rule) => faults.add(rule),
    moveTo: (newUrl) => void (url = newUrl),
    get held() {
      return held
    },
    release(order = 'oldest first') {
      const released = order === 'oldest first' ? held : held.toReversed()
      held = []
      released.forEach(send)
    },
    idle: () => pending.wait(),
  }
}

const notSent = { ...unanswered('failed to connect to host'), durationMs: 0 }

async function deliver(options: HookOptions, outgoing: Outgoing): Promise<void> {
  const headers = headersOf(options, outgoing)
  const outcome = await postDelivery(options, { url: options.url, headers, body: outgoing.body })
  record(options, outgoing, outcome)
}

function record(options: HookOptions, outgoing: Outgoing, outcome: typeof notSent): HookDelivery {
  return options.log.add({
    guid: outgoing.guid,
    event: outgoing.event,
    action: outgoing.action,
    repositoryId: outgoing.repositoryId,
    installationId: outgoing.installationId,
    redelivery: outgoing.redelivery,
    body: outgoing.body,
    hookId: options.id,
    url: options.url,
    deliveredAtMs: options.clock.wallMs(),
    requestHeaders: headersOf(options, outgoing),
    ...outcome,
  })
}

function headersOf(options: HookOptions, { guid, event, body }: Outgoing): Record<string, string> {
  const { id, secret, target } = options
  return {
    Accept: '*/*',
    'Content-Type': 'application/json',
    'User-Agent': 'GitHub-Hookshot/51a1e0f',
    'X-GitHub-Delivery': guid,
    'X-GitHub-Event': event,
    'X-GitHub-Hook-ID': String(id),
    'X-GitHub-Hook-Installation-Target-ID': String(target.id),
    'X-GitHub-Hook-Installation-Target-Type': target.type,
    'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  }
}

interface PendingWork {
  /** Work is pending until the returned function is called. */
  begin(): () => void
  wait(): Promise<void>
}

function createPendingWork(): PendingWork {
  let pendingCount = 0
  let waiting: (() => void)[] = []
  return {
    begin() {
      pendingCount += 1
      return () => {
        pendingCount -= 1
        if (pendingCount > 0) return
        const all = waiting
        waiting = []
        for (const resolve of all) resolve()
      }
    },
    wait: () =>
      pendingCount === 0 ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve)),
  }
}
