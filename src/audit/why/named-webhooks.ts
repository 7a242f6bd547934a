/**
 * Webhooks that only the audit of runs names. Whoever claims a run may name any webhook, also one
 * of a repository that the reader of the story must not see. So a webhook is used only if it is
 * about the repository of the story and, if both name a pull request, about the same one.
 */
import type { AuditRow } from '../../domain/audit.ts'
import type { InboxEntry } from '../../domain/inbox.ts'
import type { StorePart } from '../../store.ts'
import { textOf } from './names.ts'

const namedMax = 100

export type NamedWebhookStore = StorePart<{
  inbox: 'getByWebhookIds'
  repositories: 'get' | 'getByName'
}>

/** What the runs of a story are about. */
export interface StoryPlace {
  /** Our own id of the repository; '' for a job without one. */
  readonly scope: string
  /** Null for a job. */
  readonly pr: number | null
}

export interface NamedWebhooks {
  /** The one that was named last comes first. */
  readonly found: readonly InboxEntry[]
  /** GUIDs that were looked for and are not stored. */
  readonly removed: ReadonlySet<string>
}

export const noNamedWebhooks: NamedWebhooks = { found: [], removed: new Set() }

/** Without those that are already `listed`. */
export async function readNamedWebhooks(
  store: NamedWebhookStore,
  rows: readonly AuditRow[],
  listed: readonly InboxEntry[],
  place: StoryPlace,
): Promise<NamedWebhooks> {
  const listedGuids = new Set(listed.map(({ webhookId }) => webhookId))
  const newestFirst = rows.toSorted((a, b) => b.id - a.id)
  const guids = newestFirst.map((row) => textOf(row, 'webhook_id')).filter((id) => id !== null)
  const unlisted = [...new Set(guids)].filter((guid) => !listedGuids.has(guid))
  const wanted = unlisted.slice(0, namedMax)
  if (wanted.length === 0) return noNamedWebhooks
  const stored = await store.inbox.getByWebhookIds(wanted)
  const byGuid = new Map(stored.map((entry) => [entry.webhookId, entry]))
  const own = new Set(await entriesOf(store, stored, place))
  return {
    found: wanted.flatMap((guid) => byGuid.get(guid) ?? []).filter((entry) => own.has(entry)),
    removed: new Set(wanted.filter((guid) => !byGuid.has(guid))),
  }
}

/** The entries that are about this place. */
async function entriesOf(
  store: NamedWebhookStore,
  entries: readonly InboxEntry[],
  { scope, pr }: StoryPlace,
): Promise<readonly InboxEntry[]> {
  const ofThread = entries.filter(({ number }) => {
    return pr === null || number === null || number === pr
  })
  if (scope === '') return ofThread.filter(({ repo }) => repo === null)
  const repository = await store.repositories.get(scope)
  if (repository === null) return []
  const { githubId } = repository
  const possible = ofThread.filter(({ repoId }) => {
    return repoId === null || githubId === null || repoId === githubId
  })
  // GitHub's id is not enough: until GitHub is asked, it may be what a caller says.
  const names = new Set(possible.flatMap(({ repo }) => repo ?? []))
  const others = [...names].filter((name) => name !== repository.name)
  const owners = await Promise.all(others.map((name) => store.repositories.getByName(name)))
  const ownNames = new Set([
    repository.name,
    ...others.filter((_, i) => owners[i]?.id === repository.id),
  ])
  return possible.filter(({ repo }) => repo !== null && ownNames.has(repo))
}
