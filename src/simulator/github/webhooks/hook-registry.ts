/**
 * The hooks of one simulated GitHub and their deliveries. An App has one hook; a repository may
 * have several. All hooks send one event under the same GUID.
 */
import type { Clock } from '../../../clock.ts'
import type { Scheduler } from '../../../scheduler.ts'
import type { GitHubEvent } from '../state/events.ts'
import type { World } from '../state/world.ts'
import { createDeliveryLog, type DeliveryLog } from './delivery-log.ts'
import { newGuid } from './guid.ts'

export interface RegisteredHook {
  readonly id: number
  readonly url: string
  readonly events: readonly string[]
  /** Null for the App's hook. */
  readonly repositoryId: number | null
  readonly createdAt: number
  redeliver(deliveryId: number): boolean
}

export interface HookRegistry {
  readonly world: World
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly log: DeliveryLog
  guidOf(githubEvent: GitHubEvent): string
  add(hook: RegisteredHook): void
  remove(hook: RegisteredHook): void
  appHook(): RegisteredHook | null
  hooksOf(repositoryId: number): readonly RegisteredHook[]
}

export function createHookRegistry(world: World, clock: Clock, scheduler: Scheduler): HookRegistry {
  const hooks = new Set<RegisteredHook>()
  const guids = new WeakMap<GitHubEvent, string>()
  const hooksOf = (repositoryId: number | null): RegisteredHook[] =>
    [...hooks].filter((hook) => hook.repositoryId === repositoryId)
  return {
    world,
    clock,
    scheduler,
    log: createDeliveryLog(clock),
    guidOf(githubEvent) {
      const guid = guids.get(githubEvent) ?? newGuid(world.random)
      guids.set(githubEvent, guid)
      return guid
    },
    add(hook) {
      if (hook.repositoryId === null && hooksOf(null).length > 0) {
        throw new Error(
          'An App has only one hook. Close the other one, or change its address with moveTo.',
        )
      }
      if ([...hooks].some(({ id }) => id === hook.id)) {
        throw new Error(`The hookId ${hook.id} is already taken. Give another one, or none.`)
      }
      hooks.add(hook)
    },
    remove: (hook) => void hooks.delete(hook),
    appHook: () => hooksOf(null)[0] ?? null,
    hooksOf,
  }
}
