/**
 * Rule 7, whenever a delivery is recorded as shown: GitHub has what that version says, or had it. A
 * later read may put it right again, so in the end nothing would tell.
 */
import type { DeliveryFact } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'

export interface WatchedDelivery extends DeliveryFact {
  readonly sent_hash: string | null
  readonly github_id: number | null
}

export function checkSentVersion(
  before: WatchedDelivery | undefined,
  now: WatchedDelivery,
  world: World,
  findings: Findings,
): void {
  const isSame = before?.sent_fence === now.sent_fence && before.sent_seq === now.sent_seq
  const isNewest = now.sent_fence === now.version_fence && now.sent_seq === now.version_seq
  // Without a hash nobody saw it: an operator said so.
  if (isSame || !isNewest || now.sent_hash === null) return
  const repo = world.repositories.find(({ id }) => id === now.github_id)
  if (repo === undefined) return
  const wasThere = wasOnGitHub(now, repo.name, world)
  if (wasThere === null) return
  findings.check('7', wasThere, () => {
    const version = `${now.sent_fence}.${now.sent_seq}`
    const what = `version ${version} of ${now.id} counts as shown`
    return `${what}, but GitHub never had it: ${now.content}`
  })
}

/** Null for what cannot be told by its stored content alone. */
function wasOnGitHub(
  { channel, sha, thread, content, marker_key: key }: WatchedDelivery,
  repo: string,
  { github }: World,
): boolean | null {
  const wanted = JSON.parse(content) as Readonly<Record<string, unknown>>
  if (channel === 'github-status') {
    const all = github.statuses(repo, sha ?? '', String(wanted['context']))
    const said = wanted['description'] === '' ? null : wanted['description']
    return all.some(({ state, description }) => state === wanted['state'] && description === said)
  }
  if (wanted['form'] === 'anchor') {
    const text = uniqueText(wanted['view'] as AnchorText)
    const all = github.allComments(repo, thread ?? 0)
    return text === null ? null : all.some(({ versions }) => versions.some(hasText(text)))
  }
  if (channel === 'github-check') {
    const all = github.checkRuns(repo, sha ?? '').filter(({ externalId }) => externalId === key)
    // Edited since, it shows no more what it showed; that it was made is all that can be told.
    return all.length > 0
  }
  return null
}

interface AnchorText {
  readonly state: string
  readonly summary: string | null
  readonly reports: readonly { readonly text: string }[]
}

/** What only this version says: workers say everything in other words. */
function uniqueText({ state, summary, reports }: AnchorText): string | null {
  return summary ?? (state === 'running' ? (reports.at(-1)?.text ?? null) : null)
}

const hasText =
  (text: string) =>
  (version: { readonly body: string }): boolean =>
    version.body.includes(text)
