/**
 * Tells a receiver of what happens on the simulated GitHub: a hook of the App, or of one
 * repository, that listens to it and can be disturbed by script.
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
  /** A hook of this repository instead of the App's. Needed where there is no App. */
  readonly repo?: string
  readonly hookId?: number
  /** By GitHub's names, such as `pull_request`. What the App hears of, or all, when not given. */
  readonly events?: readonly string[]
  readonly fetch: typeof globalThis.fetch
}

export interface WebhookSender extends Omit<Hook, 'sendEvent'> {
  readonly hookId: number
  /** Something that did not happen here, under a GUID of its own. */
  send(event: string, payload: object): void
  /** Hears of nothing more; what is under way still arrives. */
  close(): void
}

/** What it needs of the simulated GitHub. */
export interface WebhookSource {
  readonly hooks: HookRegistry
  observe(observer: (githubEvent: GitHubEvent) => void): () => void
}

export function sendWebhooks(github: WebhookSource, options: WebhookOptions): WebhookSender {
  const { hooks } = github
  const { world } = hooks
  const { random } = world
  const target = targetOf(world, options.repo)
  const isOfApp = target.type === 'integration'
  const events = options.events ?? (isOfApp ? world.app?.events : null) ?? everyEvent
  const id = options.hookId ?? world.nextId()
  const hook = createHook({ ...hooks, ...options, id, target, random })
  const registered: RegisteredHook = {
    id,
    events,
    repositoryId: isOfApp ? null : target.id,
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
    // An App hears only of what it is installed for.
    const isOurs = isOfApp ? 'installation' in payload : repositoryId === target.id
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
  throw new Error('this GitHub has no App: give `repo`, the repository whose hook it is')
}

/** A repository's own hook knows nothing of installations. */
function webhookEventOf(
  { type }: HookTarget,
  guid: string,
  event: string,
  payload: object,
): WebhookEvent {
  const { installation, ...rest } = payload as PayloadParts
  const isApps = type === 'integration'
  return {
    guid,
    event,
    action: rest.action ?? null,
    repositoryId: rest.repository?.id ?? null,
    installationId: isApps ? (installation?.id ?? null) : null,
    payload: isApps ? payload : rest,
  }
}

interface PayloadParts {
  readonly action?: string
  readonly repository?: { readonly id: number }
  readonly installation?: { readonly id: number }
}
