/** Operations on stored webhooks, and catch-up for those that never arrived. */
import { pageView } from '../contract/answers.ts'
import { type CatchUpView, catchUpView } from '../contract/catch-up.ts'
import {
  type InboxEntryView,
  type InboxEntryWithBodyView,
  type InboxList,
  type InboxQuery,
  inboxView,
} from '../contract/inbox.ts'
import { NotFoundError } from '../errors.ts'
import { parsePayload, unpackBody } from '../intake/events/payload.ts'
import { givenFilters, pageOf } from './listing.ts'
import { type WithId, operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'
import { shownStored } from '../stored-json.ts'

/** What GitHub sent and what it led to, newest first. */
export const listInbox = operation(
  { scopes: ['operator', 'read'] },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    _caller,
    { webhook_id: webhookId, limit, cursor, ...filter }: InboxQuery,
  ): Promise<InboxList> => {
    const page = await store.inbox.list(
      givenFilters({ ...filter, webhookId }),
      pageOf({ limit, cursor }),
    )
    return pageView(page, inboxView)
  },
)

/** One webhook with its headers and payload, as GitHub sent them; by its id or GUID. */
export const getInboxEntry = operation(
  { scopes: ['operator', 'read'] },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    _caller,
    { id }: WithId,
  ): Promise<InboxEntryWithBodyView> => {
    const entry = await store.inbox.get(id)
    const stored = entry === null ? null : await store.inbox.body(entry.arrival)
    if (entry === null || stored === null) {
      throw new NotFoundError('inbox_entry_not_found', `there is no inbox entry ${id}`, {
        hint: 'It may be past its retention. List what there is with GET /v1/inbox.',
      })
    }
    return {
      ...inboxView(entry),
      headers: JSON.parse(stored.headers) as Record<string, string>,
      payload: shownStored(() => parsePayload(unpackBody(stored.body))),
    }
  },
)

/** Decides about a stored webhook again, by the present configuration. */
export const replayInboxEntry = operation(
  { scopes: ['operator'] },
  async (
    { intake }: Pick<OperationPorts, 'intake'>,
    { actor },
    { id }: WithId,
    { once },
  ): Promise<InboxEntryView> => inboxView(await intake.replay(id, actor, once)),
)

/** Looks now for webhooks that never arrived and pull requests that changed without one. */
export const catchUp = operation(
  { scopes: ['operator'] },
  async ({ catchUp: catchUpNow }: Pick<OperationPorts, 'catchUp'>): Promise<CatchUpView> =>
    catchUpView(await catchUpNow()),
)
