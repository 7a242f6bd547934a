/**
 * Events that GitHub would send a webhook for. Observers get each event in the moment it happens,
 * with the objects as they are then; hooks are such observers.
 */
import type { Json } from '../json/json.ts'
import { nodeId } from '../json/json.ts'
import { repositoryJson } from '../json/repository-json.ts'
import { userJson } from '../json/user-json.ts'
import { fullNameOf, type Repository } from './repositories.ts'
import type { User } from './users.ts'
import type { World } from './world.ts'

export interface GitHubEvent {
  /** By the simulator's clock. */
  readonly at: number
  /** The repository's full name at that time. */
  readonly repo: string
  readonly repositoryId: number
  /** As in `X-GitHub-Event`. */
  readonly event: string
  readonly action: string | null
  /** Login of the account that did it. */
  readonly sender: string
  /** The whole payload of the webhook. */
  readonly payload: Json
}

/** `objects` is called only if there are observers: most tests have none. */
export function emitEvent(
  world: World,
  repository: Repository,
  sender: User,
  event: string,
  action: string | null,
  objects: () => Json,
): void {
  if (world.observers.size === 0) return
  const installation = [...world.installations.values()].find(
    ({ account }) => account.id === repository.owner.id,
  )
  const githubEvent: GitHubEvent = {
    at: world.nowMs(),
    repo: fullNameOf(repository),
    repositoryId: repository.id,
    event,
    action,
    sender: sender.login,
    payload: {
      ...(action !== null && { action }),
      ...objects(),
      repository: repositoryJson(world, repository),
      sender: userJson(sender),
      ...(installation !== undefined && {
        installation: {
          id: installation.id,
          node_id: nodeId('MDIzOkludGVncmF0aW9u', installation.id),
        },
      }),
    },
  }
  for (const observer of world.observers) observer(githubEvent)
}
