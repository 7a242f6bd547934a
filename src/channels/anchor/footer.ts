/** The last line of an anchor comment: where to read more, and how to have it done again. */
import type { AnchorView } from '../../domain/outbox/anchor-view.ts'
import type { RunState } from '../../domain/run.ts'
import type { Words } from '../../domain/outbox/words/words.ts'
import { markdownUrl } from '../published-url.ts'

/** The others are still worked on, or a newer run stands in their place. */
const rerunnable: readonly RunState[] = ['succeeded', 'failed', 'cancelled', 'skipped']

export function footerOf(view: AnchorView, { anchor }: Words): string {
  const id = view.runId.replaceAll(/[^\w-]/g, '')
  const details = view.targetUrl === null ? null : markdownUrl(view.targetUrl)
  const parts = [
    ...(details === null ? [] : [`[${anchor.details}](${details})`]),
    ...(canRerun(view) ? [anchor.rerun(`\`holdfast runs rerun ${id}\``)] : []),
  ]
  return parts.length === 0 ? '' : `<sub>${parts.join(' · ')}</sub>`
}

function canRerun({ state, errorCode }: AnchorView): boolean {
  return rerunnable.includes(state) && errorCode !== 'pull_request_closed'
}
