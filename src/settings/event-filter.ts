/**
 * Which GitHub events and actions a run type can listen to. A misspelt one would never come, and
 * nobody would learn why nothing starts: it is refused when the configuration is loaded.
 */
import { z } from 'zod'
import type { EventFilter } from '../config.ts'
import { meantWords } from './nearest.ts'

/** GitHub's actions of each event that can start a run; none where the event has no action. */
const actionsOf: Readonly<Record<string, readonly string[]>> = {
  check_run: ['completed', 'created', 'requested_action', 'rerequested'],
  check_suite: ['completed', 'requested', 'rerequested'],
  issue_comment: ['created', 'deleted', 'edited', 'pinned', 'unpinned'],
  pull_request: [
    'assigned',
    'auto_merge_disabled',
    'auto_merge_enabled',
    'closed',
    'converted_to_draft',
    'demilestoned',
    'dequeued',
    'edited',
    'enqueued',
    'labeled',
    'locked',
    'milestoned',
    'opened',
    'ready_for_review',
    'reopened',
    'review_request_removed',
    'review_requested',
    'synchronize',
    'unassigned',
    'unlabeled',
    'unlocked',
  ],
  pull_request_review: ['dismissed', 'edited', 'submitted'],
  pull_request_review_comment: ['created', 'deleted', 'edited'],
  pull_request_review_thread: ['resolved', 'unresolved'],
  push: [],
}

const events = Object.keys(actionsOf)
const eventName = /^[a-z0-9_]{1,64}$/

/** The message, read after the path of the event; null when it is right. */
function wrongEvent(name: string): string | null {
  if (Object.hasOwn(actionsOf, name)) return null
  if (name === 'issues') {
    return 'is not supported in this version: only pull requests, checks and pushes start runs'
  }
  if (!eventName.test(name)) return 'is no GitHub event name'
  return `is no event that starts runs; ${meantWords(name, events)}`
}

function wrongAction(event: string, action: string): string | null {
  const actions = actionsOf[event] ?? []
  if (actions.includes(action)) return null
  if (actions.length === 0) return `has no actions on GitHub; write an empty list: ${event}: []`
  return `is no action of ${event}; ${meantWords(action, actions)}`
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
    const told = named === null ? message : `${JSON.stringify(action)} ${named}`
    return told === null ? [] : [{ path: [event, at], message: told }]
  })
  return [...own, ...inside]
}
