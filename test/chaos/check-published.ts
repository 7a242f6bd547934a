/**
 * What must stand on GitHub when every run of a test has ended, as the simulated GitHub counted it:
 * one comment with the newest text, two statuses, nothing twice. Answers what is not so.
 */
import type { PullStory } from './publish-world.ts'

export interface Expected {
  /** Requests that GitHub received and never answered to: they may be asked once more. */
  readonly lost?: Partial<PullStory['received']>
}

export function checkPublished(story: PullStory, { lost = {} }: Expected = {}): string[] {
  const { received } = story
  const wanted = { creates: 1, edits: 2, statuses: 2 }
  const miscounted = (['creates', 'edits', 'statuses'] as const)
    .filter((kind) => received[kind] !== wanted[kind] + (lost[kind] ?? 0))
    .map((kind) => `was asked for ${received[kind]} ${kind}`)
  return [...checkAnchor(story), ...checkStatuses(story), ...miscounted].map(
    (wrong) => `#${story.number} ${wrong}`,
  )
}

/** Whatever was made on the way: one is left, and it shows the end. */
export function checkAnchor({ comments, summary }: PullStory): string[] {
  const live = comments.filter(({ deletedAt }) => deletedAt === null)
  const texts = comments.flatMap(({ versions }) => versions.map(({ body }) => body))
  return [
    ...(live.length === 1 ? [] : [`has ${live.length} comments`]),
    ...(live.every(({ body }) => body.includes(summary)) ? [] : ['does not show the newest text']),
    ...(new Set(texts).size === texts.length ? [] : ['was written the same text twice']),
  ]
}

export function checkStatuses({ statuses }: PullStory): string[] {
  const states = statuses.map(({ state }) => state).join()
  return states === 'pending,success' ? [] : [`has the statuses ${states}`]
}
