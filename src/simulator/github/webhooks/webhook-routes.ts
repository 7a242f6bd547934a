/** Routes of hooks and their deliveries: of the App (signed with its key) and of a repository. */
import { notFound, Refusal } from '../refusal.ts'
import { repositoryOf } from '../routes/resources.ts'
import type { Call, Reply, Route } from '../routes/route.ts'
import { deliveryItemJson, deliveryJson, hookConfigJson, hookJson } from './delivery-json.ts'
import type { HookDelivery } from './delivery-log.ts'
import type { HookRegistry, RegisteredHook } from './hook-registry.ts'

const required = { permission: ['repository_hooks'], access: 'write', role: 'admin' } as const

export function webhookRoutes(registry: HookRegistry): readonly Route[] {
  const appHookOf = (call: Call): RegisteredHook => {
    if (call.identity.kind !== 'app') {
      throw new Refusal(401, { message: 'A JSON web token could not be decoded' })
    }
    const hook = registry.appHook()
    if (hook === null) throw notFound()
    return hook
  }
  const repositoryHookOf = (call: Call): RegisteredHook => {
    const { id: repositoryId } = repositoryOf(call, required)
    const wanted = Number(call.params['hook_id'])
    const hook = registry.hooksOf(repositoryId).find(({ id }) => id === wanted)
    if (hook === undefined) throw notFound()
    return hook
  }
  return [
    {
      route: 'GET /app/hook/config',
      docs: 'apps/webhooks#get-a-webhook-configuration-for-an-app',
      handle: (call) => ({ status: 200, body: hookConfigJson(appHookOf(call)) }),
    },
    {
      route: 'GET /repos/{owner}/{repo}/hooks',
      docs: 'repos/webhooks#list-repository-webhooks',
      handle: (call) => listHooks(registry, call),
    },
    ...deliveryRoutes(registry, '/app/hook', 'apps/webhooks', 'an-app-webhook', appHookOf),
    ...deliveryRoutes(
      registry,
      '/repos/{owner}/{repo}/hooks/{hook_id}',
      'repos/webhooks',
      'a-repository-webhook',
      repositoryHookOf,
    ),
  ]
}

function listHooks(registry: HookRegistry, call: Call): Reply {
  const repository = repositoryOf(call, required)
  const body = registry.hooksOf(repository.id).map((hook) => {
    const newest = registry.log.page(hook.id, { perPage: 1, cursor: null, status: null })
    return hookJson(call.world, repository, hook, newest.items[0] ?? null)
  })
  return { status: 200, body }
}

function deliveryRoutes(
  registry: HookRegistry,
  base: string,
  page: string,
  whose: string,
  hookOf: (call: Call) => RegisteredHook,
): Route[] {
  const deliveryOf = (call: Call): HookDelivery => {
    const delivery = registry.log.find(hookOf(call).id, Number(call.params['delivery_id']))
    if (delivery === null) throw notFound()
    return delivery
  }
  return [
    {
      route: `GET ${base}/deliveries`,
      docs: `${page}#list-deliveries-for-${whose}`,
      handle: (call) => listDeliveries(registry, call, hookOf(call)),
    },
    {
      route: `GET ${base}/deliveries/{delivery_id}`,
      docs: `${page}#get-a-delivery-for-${whose}`,
      handle: (call) => ({ status: 200, body: deliveryJson(call.world, deliveryOf(call)) }),
    },
    {
      route: `POST ${base}/deliveries/{delivery_id}/attempts`,
      docs: `${page}#redeliver-a-delivery-for-${whose}`,
      handle: (call) => {
        hookOf(call).redeliver(deliveryOf(call).id)
        return { status: 202, body: {} }
      },
    },
  ]
}

function listDeliveries({ log }: HookRegistry, call: Call, { id }: RegisteredHook): Reply {
  const { world, request } = call
  const { query } = request
  const status = query.get('status')
  const page = log.page(id, {
    perPage: Math.min(Number(query.get('per_page') ?? 30) || 30, 100),
    cursor: query.get('cursor'),
    status: status === 'success' || status === 'failure' ? status : null,
  })
  const body = page.items.map((delivery) => deliveryItemJson(world, delivery))
  if (page.nextCursor === null) return { status: 200, body }
  const next = new URLSearchParams(query)
  next.set('cursor', page.nextCursor)
  const link = `<${request.apiUrl}${request.path}?${next.toString()}>; rel="next"`
  return { status: 200, body, headers: { link } }
}
