/** Decides a stored webhook again, by the configuration of now. */
import { inboxView, type InboxEntryView } from '../../contract/inbox.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const replayInboxEntry = operation(
  { scopes: ['operator'] },
  async (
    { intake }: Pick<OperationPorts, 'intake'>,
    { actor },
    { id }: Named,
    { once },
  ): Promise<InboxEntryView> => inboxView(await intake.replay(id, actor, once)),
)
