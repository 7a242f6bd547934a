/** Labels of a repository and of its threads. Upper and lower case make no difference in names. */
import { labelJson } from '../json/repository-json.ts'
import { issueJson, pullJson } from '../json/thread-json.ts'
import { emitEvent } from './events.ts'
import type { Repository } from './repositories.ts'
import type { Thread } from './threads.ts'
import type { User } from './users.ts'
import type { World } from './world.ts'

export interface Label {
  readonly id: number
  readonly name: string
  readonly color: string
}

/** As on GitHub, using an unknown label creates it. */
export function labelNamed(world: World, repository: Repository, name: string): Label {
  const known = repository.labels.get(name.toLowerCase())
  if (known !== undefined) return known
  const label: Label = { id: world.nextId(), name, color: 'ededed' }
  repository.labels.set(name.toLowerCase(), label)
  return label
}

export function addLabels(
  world: World,
  thread: Thread,
  names: readonly string[],
  sender: User,
): void {
  for (const name of names) {
    const label = labelNamed(world, thread.repository, name)
    if (thread.labels.includes(label)) continue
    thread.labels.push(label)
    thread.updatedAt = world.nowMs()
    world.countChange()
    emitLabelEvent(world, thread, label, sender, 'labeled')
  }
}

/** False when the thread does not have it. */
export function removeLabel(world: World, thread: Thread, name: string, sender: User): boolean {
  const index = thread.labels.findIndex((label) => label.name.toLowerCase() === name.toLowerCase())
  const label = thread.labels[index]
  if (label === undefined) return false
  thread.labels.splice(index, 1)
  thread.updatedAt = world.nowMs()
  world.countChange()
  emitLabelEvent(world, thread, label, sender, 'unlabeled')
  return true
}

function emitLabelEvent(
  world: World,
  thread: Thread,
  label: Label,
  sender: User,
  action: 'labeled' | 'unlabeled',
): void {
  const { repository, pull, number } = thread
  emitEvent(world, repository, sender, pull === null ? 'issues' : 'pull_request', action, () => ({
    ...(pull === null
      ? { issue: issueJson(world, thread) }
      : { number, pull_request: pullJson(world, thread, pull) }),
    label: labelJson(repository, label),
  }))
}
