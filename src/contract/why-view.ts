/** What happened and why, as the wire shows it. */
import type { Why } from '../audit/why.ts'
import type { WhyView } from './why.ts'
import { timeView } from './answers.ts'

export function whyView({ query, kind, subject, headline, text, ...told }: Why): WhyView {
  return {
    query,
    kind,
    subject,
    headline,
    story: told.story.map(({ at, text: sentence, depth, type, runId, webhookId }) => {
      return { at: timeView(at), text: sentence, depth, type, run_id: runId, webhook_id: webhookId }
    }),
    awaiting: told.awaiting.map(({ what, until }) => {
      return { what, until: until === null ? null : timeView(until) }
    }),
    actions: told.actions.map(({ text: deed, command }) => ({ text: deed, command })),
    text,
  }
}
