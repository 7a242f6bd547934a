/** One webhook with its headers and payload, as GitHub sent them; by its id or GUID. */
import { inboxView, type InboxEntryWithBodyView } from '../../contract/inbox.ts'
import { NotFoundError } from '../../errors.ts'
import { parsePayload, unpackBody } from '../../intake/parse-payload.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const getInboxEntry = operation(
  { scopes: ['operator', 'read'] },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    _caller,
    { id }: Named,
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
      payload: parsePayload(unpackBody(stored.body)),
    }
  },
)
