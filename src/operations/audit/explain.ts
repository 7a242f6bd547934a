/** What happened to a pull request, run, delivery or webhook, why, and what a person can do. */
import { explain as explainIn } from '../../audit/why.ts'
import { whyView } from '../../contract/why-view.ts'
import type { WhyView } from '../../contract/why.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const explain = operation(
  { scopes: ['operator', 'read'] },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    _caller,
    { q }: { readonly q: string },
  ): Promise<WhyView> => whyView(await explainIn(store, q)),
)
