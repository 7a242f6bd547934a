/**
 * The committed list of GitHub's events must be complete: it has every event and action of GitHub's
 * published examples.
 */
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { githubEvents } from './github-events.ts'

interface ExampleEvent {
  readonly name: string
  readonly examples: readonly { readonly action?: string }[]
}

const examples = createRequire(import.meta.url)(
  '@octokit/webhooks-examples/api.github.com/index.json',
) as readonly ExampleEvent[]

/** The program that calls GitHub chooses the action of this event. */
const chosenByCallers = ['repository_dispatch on-demand-test']

test('every event and action of the examples is known', () => {
  const sent = examples.flatMap(({ name, examples: payloads }) =>
    payloads.map(({ action }) => (action === undefined ? name : `${name} ${action}`)),
  )
  const described = new Set(
    Object.entries(githubEvents).flatMap(([event, actions]) => [
      event,
      ...actions.map((action) => `${event} ${action}`),
    ]),
  )
  expect(sent.length).toBeGreaterThan(200)
  expect([...new Set(sent)].filter((name) => !described.has(name)).toSorted()).toEqual(
    chosenByCallers,
  )
})
