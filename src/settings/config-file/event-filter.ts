/**
 * Which GitHub events and actions can start a run type. A misspelt one would never arrive, and
 * nobody would learn why nothing starts. So it is an error when the configuration is loaded.
 */
import { z } from 'zod'
import type { EventFilter } from '../../config.ts'
import { startingEvents } from '../../domain/starting-events.ts'
import { didYouMean, didYouMeanOrAll } from '../../validation/nearest.ts'
import { githubEvents } from './github-events.ts'

const eventName = /^[a-z0-9_]{1,64}$/

/** The message follows the path of the event. Null if the event is allowed. */
function eventProblem(name: string): string | null {
  if (startingEvents.includes(name)) return null
  const usable = `Events that start runs: ${startingEvents.join(', ')}`
  if (Object.hasOwn(githubEvents, name)) return `cannot start a run in this version. ${usable}`
  if (!eventName.test(name)) return 'is not a GitHub event'
  return `is not a GitHub event. ${didYouMean(name, startingEvents) || usable}`
}

function actionProblem(event: string, action: string): string | null {
  const actions = githubEvents[event] ?? []
  if (actions.includes(action)) return null
  if (actions.length === 0) {
    return `is not an action of ${event}, which has none. Write an empty list: ${event}: []`
  }
  return `is not an action of ${event}. ${didYouMeanOrAll(action, actions, 'Actions')}`
}

/** Not zod's own checks: they run first, and one that fails would hide the other problems. */
export const eventFilter = z.custom<EventFilter>().superRefine((filter: unknown, context) => {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    context.addIssue('must be an object')
    return
  }
  for (const [event, actions] of Object.entries(filter)) {
    for (const { path, message } of problemsIn(event, actions)) {
      context.addIssue({ code: 'custom', path, message })
    }
  }
})

interface Problem {
  readonly path: (string | number)[]
  readonly message: string
}

function problemsIn(event: string, actions: unknown): readonly Problem[] {
  const wrongName = eventProblem(event)
  const own = wrongName === null ? [] : [{ path: [event], message: wrongName }]
  if (!Array.isArray(actions)) return [...own, { path: [event], message: 'must be a list' }]
  const inside = actions.flatMap((action: unknown, at) => {
    if (typeof action !== 'string') return [{ path: [event, at], message: 'must be a text' }]
    const problem = wrongName === null ? actionProblem(event, action) : null
    const message = `${JSON.stringify(action)} ${problem}`
    return problem === null ? [] : [{ path: [event, at], message }]
  })
  return [...own, ...inside]
}
