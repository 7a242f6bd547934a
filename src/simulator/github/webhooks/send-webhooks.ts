/**
 * Sends the events of the simulated GitHub to a receiver, through a hook of the App or of one
 * repository. Its deliveries can have faults.
 */
import type { GitHubEvent } from '../state/events.ts'
import { repositoryNamed } from '../state/repositories.ts'
import type { World } from '../state/world.ts'
import type { HookRegistry, RegisteredHook } from './hook-registry.ts'
import { newGuid } from './guid.ts'
import { createHook, type WebhookEvent, type Hook, type HookTarget } from './hook.ts'

export interface WebhookOptions {
  /** Where they are sent, such as `http://127.0.0.1:8787/webhooks/github`. */
  readonly url: string
  readonly secret: string
  /** Makes it a hook of this repository instead of the App's. Required where there is no App. */
  readonly repo?: string
  readonly hookId?: number
  /** GitHub's names, such as `pull_request`. If absent, the App's events, or all. */
  readonly events?: readonly string[]
  readonly fetch: typeof globalThis.fetch
}

export interface WebhookSender extends Omit<Hook, 'sendEvent'> {
  readonly hookId: number
  /** Sends an event that did not happen on the simulated GitHub, under its own GUID. */
  send(event: string, payload: object): void
  /** Sends no more events; those under way still arrive. */
  close(): void
}

/** The parts of the simulated GitHub that a hook needs. */
export interface WebhookSource {
  readonly hooks: HookRegistry
  observe(observer: (githubEvent: GitHubEvent) => void): () => void
}

export function sendWebhooks(github: WebhookSource, options: WebhookOptions): WebhookSender {
  const { hooks } = github
  const { world } = hooks
  const { random } = world
  const target = targetOf(world, options.repo)
  const isAppHook = target.type === 'integration'
  const events = options.events ?? (isAppHook ? world.app?.events : null) ?? everyEvent
  const id = options.hookId ?? world.nextId()
  const hook = createHook({ ...hooks, ...options, id, target, random })
  const registered: RegisteredHook = {
    id,
    events,
    repositoryId: isAppHook ? null : target.id,
    createdAt: world.nowMs(),
    get url() {
      return hook.url
    },
    redeliver: (deliveryId) => hook.redeliver(deliveryId),
  }
  hooks.add(registered)

  const sendEvent = (guid: string, event: string, payload: object): void =>
    hook.sendEvent(webhookEventOf(target, guid, event, payload))
  const stopObserving = github.observe((githubEvent) => {
    const { event, payload, repositoryId } = githubEvent
    // An App gets events only where it is installed.
    const isOurs = isAppHook ? 'installation' in payload : repositoryId === target.id
    const isSubscribed = events === everyEvent || events.includes(event)
    if (isOurs && isSubscribed) sendEvent(hooks.guidOf(githubEvent), event, payload)
  })
  return {
    hookId: id,
    get url() {
      return hook.url
    },
    get held() {
      return hook.held
    },
    addFault: (rule) => hook.addFault(rule),
    release: (order) => hook.release(order),
    redeliver: (deliveryId) => hook.redeliver(deliveryId),
    moveTo: (place) => hook.moveTo(place),
    idle: () => hook.idle(),
    send: (event, payload) => sendEvent(newGuid(random), event, payload),
    close() {
      stopObserving()
      hooks.remove(registered)
    },
  }
}

/** As GitHub writes "all of them". */
const everyEvent: readonly string[] = ['*']

function targetOf(world: World, repo: string | undefined): HookTarget {
  if (repo !== undefined) return { type: 'repository', id: repositoryNamed(world, repo).id }
  if (world.app !== null) return { type: 'integration', id: world.app.id }
  throw new Error('This GitHub has no App. Give "repo", the repository whose hook it is.')
}

/** Payloads of a repository's hook have no installation. */
function webhookEventOf(
  { type }: HookTarget,
  guid: string,
  event: string,
  payload: object,
): WebhookEvent {
  const { installation, ...withoutInstallation } = payload as PayloadParts
  const isForApp = type === 'integration'
  return {
    guid,
    event,
    action: withoutInstallation.action ?? null,
    repositoryId: withoutInstallation.repository?.id ?? null,
    installationId: isForApp ? (installation?.id ?? null) : null,
    payload: isForApp ? payload : withoutInstallation,
  }
}

interface PayloadParts {
  readonly action?: string
  readonly repository?: { readonly id: number }
  readonly installation?: { readonly id: number }
}
