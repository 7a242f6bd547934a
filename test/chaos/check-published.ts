/**
 * Checks what the simulated GitHub shows when every run of a test has ended: one comment with the
 * newest text, two statuses, nothing twice. Returns the violations as sentences.
 */
import type { PullStory } from './publish-world.ts'

export interface Expected {
  /** Requests that GitHub received but never answered. Each may be sent once more. */
  readonly lost?: Partial<PullStory['received']>
}

/** Also checks that GitHub received no more requests than were needed. */
export function checkPublished(story: PullStory, { lost = {} }: Expected = {}): string[] {
  const { comments, statuses, received } = story
  const texts = comments.flatMap(({ versions }) => versions.map(({ body }) => body))
  const states = statuses.map(({ state }) => state).join()
  const wanted = { creates: 1, edits: 2, statuses: 2 }
  const wrong = [
    ...(new Set(texts).size === texts.length ? [] : ['was written the same text twice']),
    ...(states === 'pending,success' ? [] : [`had the statuses ${states}`]),
    ...(['creates', 'edits', 'statuses'] as const)
      .filter((kind) => received[kind] !== wanted[kind] + (lost[kind] ?? 0))
      .map((kind) => `was asked for ${received[kind]} ${kind}`),
  ]
  return [...checkShownNow(story), ...wrong.map((what) => `#${story.number} ${what}`)]
}

/** Checks only what GitHub shows now, whatever was written before. */
export function checkShownNow({ number, comments, statuses, summary }: PullStory): string[] {
  const live = comments.filter(({ deletedAt }) => deletedAt === null)
  const status = statuses.at(-1)?.state ?? 'none'
  const wrong = [
    ...(live.length === 1 ? [] : [`has ${live.length} comments`]),
    ...(live.every(({ body }) => body.includes(summary)) ? [] : ['does not show the newest text']),
    ...(status === 'success' ? [] : [`has the status ${status}`]),
  ]
  return wrong.map((what) => `#${number} ${what}`)
}
