/**
 * Which GitHub events and actions a run type can listen to. A misspelt one would never arrive, and
 * nobody would learn why nothing starts, so it is an error when the configuration is loaded.
 */
import { z } from 'zod'
import type { EventFilter } from '../config.ts'
import { didYouMean, didYouMeanOrAll } from '../validation/nearest.ts'
import { githubEvents } from './github-events.ts'

/** The events that can start a run. */
const startingEvents = [
  'check_run',
  'check_suite',
  'issue_comment',
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'pull_request_review_thread',
  'push',
]

const eventName = /^[a-z0-9_]{1,64}$/

/** The message, read after the path of the event; null when it is right. */
function wrongEvent(name: string): string | null {
  if (startingEvents.includes(name)) return null
  const usable = `Events that start runs: ${startingEvents.join(', ')}`
  if (Object.hasOwn(githubEvents, name)) return `cannot start a run in this version. ${usable}`
  if (!eventName.test(name)) return 'is not a GitHub event'
  return `is not a GitHub event. ${didYouMean(name, startingEvents) || usable}`
}

function wrongAction(event: string, action: string): string | null {
  const actions = githubEvents[event] ?? []
  if (actions.includes(action)) return null
  if (actions.length === 0) {
    return `is not an action of ${event}, which has none. Write an empty list: ${event}: []`
  }
  return `is not an action of ${event}. ${didYouMeanOrAll(action, actions, 'Actions')}`
}

/** Checked by hand: zod's own checks come first, and one that fails would hide the names. */
export const eventFilter = z.custom<EventFilter>().superRefine((filter: unknown, context) => {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    context.addIssue('must be an object')
    return
  }
  for (const [event, actions] of Object.entries(filter)) {
    for (const { path, message } of wrongIn(event, actions)) {
      context.addIssue({ code: 'custom', path, message })
    }
  }
})

interface Wrong {
  readonly path: (string | number)[]
  readonly message: string
}

function wrongIn(event: string, actions: unknown): readonly Wrong[] {
  const wrong = wrongEvent(event)
  const own = wrong === null ? [] : [{ path: [event], message: wrong }]
  if (!Array.isArray(actions)) return [...own, { path: [event], message: 'must be a list' }]
  const inside = actions.flatMap((action: unknown, at) => {
    const message = typeof action === 'string' ? null : 'must be a text'
    const named = wrong === null && message === null ? wrongAction(event, String(action)) : null
    const wrongText = named === null ? message : `${JSON.stringify(action)} ${named}`
    return wrongText === null ? [] : [{ path: [event, at], message: wrongText }]
  })
  return [...own, ...inside]
}
