/** The same as `explain`, for one run that the caller reaches. */
import { explainRun as explainRunIn } from '../../audit/why.ts'
import { whyView } from '../../contract/why-view.ts'
import type { WhyView } from '../../contract/why.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const explainRun = operation(
  { scopes: ['operator', 'read', 'run'], within: 'run' },
  async ({ store }: Pick<OperationPorts, 'store'>, _caller, { id }: Named): Promise<WhyView> =>
    whyView(await explainRunIn(store, id)),
)
