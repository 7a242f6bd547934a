/**
 * Lists the inbox, the last arrival first; for one thread along an index. The inbox holds a week.
 */
import type { InboxEntry } from '../../../domain/inbox.ts'
import type { InboxFilter, Page, Paged } from '../../../store.ts'
import { cutPage, pageAfterNumber, rowsToRead } from '../../paging.ts'
import type { Sql, Verb } from '../../sql.ts'
import { join, raw, sql } from '../../sql.ts'
import { selectEntries } from '../../tables/inbox-table.ts'
import { repositoryOfName } from '../../tables/repository-table.ts'

export function* listInbox(filter: InboxFilter, page: Page): Verb<Paged<InboxEntry>> {
  const where: Sql[] = [pageAfterNumber(page, raw('arrival'))]
  const { state, decision, event, repo, number, webhookId, lane } = filter
  if (state === 'waiting') where.push(sql`due_at IS NOT NULL`)
  else if (state !== undefined) where.push(sql`state = ${state}`)
  if (decision !== undefined) where.push(sql`decision = ${decision}`)
  if (event !== undefined) where.push(sql`event = ${event}`)
  if (repo !== undefined) where.push(yield* namedLike(repo, number))
  if (number !== undefined) where.push(sql`number = ${number}`)
  if (webhookId !== undefined) where.push(sql`webhook_id = ${webhookId}`)
  if (lane !== undefined) where.push(sql`lane = ${lane}`)
  const inOrder = sql`${join(where, ' AND ')} ORDER BY arrival DESC`
  const large = ['outcomes', 'last_error']
  const count = yield* rowsToRead({ table: raw('inbox'), large, inOrder, limit: page.limit })
  const found = yield* selectEntries(sql`${inOrder} LIMIT ${count}`)
  return cutPage(
    found,
    page,
    (entry) => entry,
    ({ arrival }) => arrival,
  )
}

/** Webhooks of a thread may have any name of its repository; others have the given name. */
function* namedLike(repo: string, number: number | undefined): Verb<Sql> {
  if (number === undefined) return sql`repo = ${repo}`
  const rows =
    yield sql`SELECT name FROM repository_name WHERE repository_id = ${repositoryOfName(repo)}`
  const others = rows.map((row) => row['name'] as string).filter((name) => name !== repo)
  return others.length === 0 ? sql`repo = ${repo}` : sql`repo IN (${join([repo, ...others])})`
}
