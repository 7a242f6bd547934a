/**
 * Which GitHub events and actions a run type can listen to. A misspelt one would never come, and
 * nobody would learn why nothing starts: it is refused when the configuration is loaded.
 */
import { z } from 'zod'
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

const form = z.record(z.string(), z.array(z.string('must be a text'), 'must be a list'), {
  error: () => 'must be an object',
})

export const eventFilter = form.superRefine((filter, context) => {
  for (const [event, actions] of Object.entries(filter)) {
    const wrong = wrongEvent(event)
    if (wrong !== null) {
      context.addIssue({ code: 'custom', path: [event], message: wrong })
      continue
    }
    for (const [at, action] of actions.entries()) {
      const message = wrongAction(event, action)
      const what = message === null ? '' : `${JSON.stringify(action)} ${message}`
      if (message !== null) context.addIssue({ code: 'custom', path: [event, at], message: what })
    }
  }
})
