/** Hooks and their deliveries, as GitHub writes them. */
import type { Json } from '../json/json.ts'
import { repositoryUrl } from '../json/repository-json.ts'
import type { Repository } from '../state/repositories.ts'
import type { World } from '../state/world.ts'
import type { HookDelivery } from './delivery-log.ts'
import type { RegisteredHook } from './hook-registry.ts'

/** GitHub shows that there is a secret, but never its value. */
export function hookConfigJson({ url }: RegisteredHook): Json {
  return { content_type: 'json', insecure_ssl: '0', secret: '********', url }
}

export function hookJson(
  world: World,
  repository: Repository,
  hook: RegisteredHook,
  last: HookDelivery | null,
): Json {
  const url = `${repositoryUrl(repository)}/hooks/${hook.id}`
  return {
    type: 'Repository',
    id: hook.id,
    name: 'web',
    active: true,
    events: hook.events,
    config: hookConfigJson(hook),
    updated_at: world.stamp(hook.createdAt),
    created_at: world.stamp(hook.createdAt),
    url,
    test_url: `${url}/test`,
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
    last_response:
      last === null
        ? { code: null, status: 'unused', message: null }
        : {
            code: last.statusCode,
            status: last.status === 'OK' ? 'active' : 'failed',
            message: last.status,
          },
  }
}

/** As in a list. */
export function deliveryItemJson(world: World, delivery: HookDelivery): Json {
  return {
    id: delivery.id,
    guid: delivery.guid,
    delivered_at: world.stamp(delivery.deliveredAtMs),
    redelivery: delivery.redelivery,
    duration: Math.round(delivery.durationMs / 10) / 100,
    status: delivery.status,
    status_code: delivery.statusCode,
    event: delivery.event,
    action: delivery.action,
    installation_id: delivery.installationId,
    repository_id: delivery.repositoryId,
    throttled_at: null,
  }
}

/** With the whole request, so that a receiver can read a lost webhook here. */
export function deliveryJson(world: World, delivery: HookDelivery): Json {
  const wasAnswered = delivery.statusCode !== 0
  return {
    ...deliveryItemJson(world, delivery),
    url: delivery.url,
    request: {
      headers: delivery.requestHeaders,
      payload: JSON.parse(delivery.body) as unknown,
    },
    response: {
      headers: wasAnswered ? delivery.responseHeaders : null,
      payload: wasAnswered ? delivery.responseBody : null,
    },
  }
}
