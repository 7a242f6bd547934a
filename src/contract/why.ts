/** The answer of `why` in the API. */
import { z } from 'zod'
import type { Why } from '../audit/why.ts'
import { time, timeView } from './answers.ts'
import { line } from './fields.ts'

export const whyQuery = z.strictObject({
  q: line(500).meta({
    examples: ['acme/widgets#5'],
    description:
      'A pull request (`owner/repo#5`, or its address), a run id, a delivery id, an inbox id, or ' +
      'the GUID of a webhook.',
  }),
})

const storyEntry = z.strictObject({
  at: time.describe('When it happened.'),
  text: z.string().describe('One sentence: what happened, what was decided, and why.'),
  depth: z.int().describe('1 when it follows from the last entry with 0 before it.'),
  type: z.string().describe('The audit type of the event; `left_out` for events not shown.'),
  run_id: z.string().nullable().describe('The run it happened to.'),
  webhook_id: z.string().nullable().describe("GitHub's GUID of the delivery."),
})

const awaited = z.strictObject({
  what: z.string().describe('What has to happen next, and what follows if it does not.'),
  until: time.nullable().describe('Null if there is no deadline; in the past if it is overdue.'),
})

const action = z.strictObject({
  text: z.string().describe('What a person can do now.'),
  command: z.string().nullable().describe('The command that does it; null if there is none.'),
})

export const why = z
  .strictObject({
    query: z.string().describe('The question, as it was asked.'),
    kind: z.enum(['pull_request', 'run', 'webhook', 'delivery']).describe('What was asked about.'),
    subject: z.string().describe('What it is about, such as `acme/widgets#5`.'),
    headline: z.string().describe('The current state, in one sentence.'),
    story: z.array(storyEntry).describe('What happened, cause before effect.'),
    awaiting: z.array(awaited).describe('What has to happen next, and until when.'),
    actions: z.array(action).describe('What would be accepted now.'),
    text: z.string().describe('All of it as plain text, for terminals and chats.'),
  })
  .register(z.globalRegistry, { id: 'Why' })

export type WhyView = z.infer<typeof why>

export function whyView({ query, kind, subject, headline, text, ...answer }: Why): WhyView {
  return {
    query,
    kind,
    subject,
    headline,
    story: answer.story.map(({ at, text: sentence, depth, type, runId, webhookId }) => {
      return { at: timeView(at), text: sentence, depth, type, run_id: runId, webhook_id: webhookId }
    }),
    awaiting: answer.awaiting.map(({ what, until }) => {
      return { what, until: until === null ? null : timeView(until) }
    }),
    actions: answer.actions.map((action) => ({ text: action.text, command: action.command })),
    text,
  }
}
