/** What GitHub sent and what became of it, newest first. */
import { pageView } from '../../contract/answers.ts'
import { inboxView, type InboxList, type InboxQuery } from '../../contract/inbox.ts'
import { given, pageOf } from '../listing.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const listInbox = operation(
  { scopes: ['operator', 'read'] },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    _caller,
    { webhook_id: webhookId, limit, cursor, ...filter }: InboxQuery,
  ): Promise<InboxList> => {
    const page = await store.inbox.list(given({ ...filter, webhookId }), pageOf({ limit, cursor }))
    return pageView(page, inboxView)
  },
)
