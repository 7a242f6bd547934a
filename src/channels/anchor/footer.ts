/** The last line of an anchor comment: where to read more, and how to have it done again. */
import type { AnchorView } from '../../domain/outbox/anchor-view.ts'
import type { RunState } from '../../domain/run.ts'
import type { Words } from '../../domain/outbox/words/words.ts'
import { hideSecrets } from '../../hide-secrets.ts'

/** The others are still worked on, or a newer run stands in their place. */
const rerunnable: readonly RunState[] = ['succeeded', 'failed', 'cancelled', 'skipped']
const urlMax = 2000

export interface Links {
  readonly publicUrl: string | null
}

export function footerOf(view: AnchorView, { publicUrl }: Links, { anchor }: Words): string {
  const id = view.runId.replaceAll(/[^\w-]/g, '')
  const page = publicUrl === null ? null : linkUrl(`${publicUrl.replace(/\/+$/, '')}/runs/${id}`)
  const details = view.targetUrl === null ? null : linkUrl(view.targetUrl)
  const parts = [
    ...(page === null ? [] : [`[${anchor.runPage}](${page})`]),
    ...(details === null || details === page ? [] : [`[${anchor.details}](${details})`]),
    ...(canRerun(view) ? [anchor.rerun(`\`holdfast runs rerun ${id}\``)] : []),
  ]
  return parts.length === 0 ? '' : `<sub>${parts.join(' · ')}</sub>`
}

function canRerun({ state, errorCode }: AnchorView): boolean {
  return rerunnable.includes(state) && errorCode !== 'pull_request_closed'
}

/** Null for what is no address of the web, or is one that nobody else may know. */
function linkUrl(text: string): string | null {
  if (text.length > urlMax || hideSecrets(text) !== text || !URL.canParse(text)) return null
  const { protocol, username, href } = new URL(text)
  if ((protocol !== 'https:' && protocol !== 'http:') || username !== '') return null
  return href.replaceAll(/[()<>\\`|@]/g, percentEncoded)
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}
