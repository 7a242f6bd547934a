/**
 * Rule 7, checked whenever a version is recorded as sent: GitHub has or had its content. A later
 * settling read may correct a wrong record, so a check at the end would miss it.
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
  // No hash means that an operator confirmed it, not a request.
  if (isSame || !isNewest || now.sent_hash === null) return
  const repo = world.repositories.find(({ id }) => id === now.github_id)
  if (repo === undefined) return
  const wasThere = wasOnGitHub(now, repo.name, world)
  if (wasThere === null) return
  findings.check('7', wasThere, () => {
    const version = `${now.sent_fence}.${now.sent_seq}`
    const what = `version ${version} of ${now.id} is recorded as sent`
    return `${what}, but GitHub never had it: ${now.content}`
  })
}

/** Null where the stored content alone cannot decide it. */
function wasOnGitHub(
  { channel, sha, thread, content, marker_key: key }: WatchedDelivery,
  repo: string,
  { github }: World,
): boolean | null {
  const wanted = JSON.parse(content) as Readonly<Record<string, unknown>>
  if (channel === 'github-status') {
    const all = github.statuses(repo, sha ?? '', String(wanted['context']))
    const wantedDescription = wanted['description'] === '' ? null : wanted['description']
    return all.some(
      ({ state, description }) => state === wanted['state'] && description === wantedDescription,
    )
  }
  if (wanted['form'] === 'anchor') {
    const text = uniqueText(wanted['view'] as AnchorText)
    const all = github.allComments(repo, thread ?? 0)
    return text === null ? null : all.some(({ versions }) => versions.some(hasText(text)))
  }
  if (channel === 'github-check') {
    const all = github.checkRuns(repo, sha ?? '').filter(({ externalId }) => externalId === key)
    // An edit replaces what a check run showed, so only its existence can be checked.
    return all.length > 0
  }
  return null
}

interface AnchorText {
  readonly state: string
  readonly summary: string | null
  readonly reports: readonly { readonly text: string }[]
}

/** Text that only this version contains: every text of a worker is unique. */
function uniqueText({ state, summary, reports }: AnchorText): string | null {
  return summary ?? (state === 'running' ? (reports.at(-1)?.text ?? null) : null)
}

const hasText =
  (text: string) =>
  (version: { readonly body: string }): boolean =>
    version.body.includes(text)
