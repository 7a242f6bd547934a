/**
 * An operation: one use case, the same for every door. It takes what it needs of the system, who
 * is asking, and input that fits its schema in src/contract; it answers with a view from there.
 *
 *     export const cancelRun = operation(
 *       { scopes: ['operator'], within: 'run' },
 *       async ({ runs, store }: Pick<OperationPorts, …>, caller, { id }: Named) => …,
 *     )
 *
 * What must hold: an operation checks its reach itself, so that no door can forget it. A door may
 * check it earlier as well, before it reads a body (`operation.reach`).
 */
import type { IdempotencyKey } from '../store.ts'
import type { Caller } from './caller.ts'
import { checkReach, type Reach, type ReachStore } from './reach.ts'

/** What belongs to this one call rather than to what is asked for. */
export interface CallOptions {
  /** Commits the answer with the effect: a repeat is answered alike. */
  readonly once?: IdempotencyKey | undefined
  /** Ends a wait early. */
  readonly signal?: AbortSignal | undefined
}

export interface Operation<Ports, Input, Output> {
  (ports: Ports, caller: Caller, input: Input, options?: CallOptions): Promise<Output>
  readonly reach: Reach
}

type Perform<Ports, Input, Output> = (
  ports: Ports,
  caller: Caller,
  input: Input,
  options: CallOptions,
) => Promise<Output>

/** What an operation on one run or delivery is about. */
export interface Named {
  readonly id: string
}

export function operation<
  Ports extends { readonly store: ReachStore },
  Input extends Named,
  Output,
>(
  reach: Reach & { readonly within: 'run' | 'delivery' },
  perform: Perform<Ports, Input, Output>,
): Operation<Ports, Input, Output>
export function operation<Ports, Input, Output>(
  reach: Reach & { readonly within?: 'itself' },
  perform: Perform<Ports, Input, Output>,
): Operation<Ports, Input, Output>
export function operation<Ports, Input, Output>(
  reach: Reach,
  perform: Perform<Ports, Input, Output>,
): Operation<Ports, Input, Output> {
  const call = async (
    ports: Ports,
    caller: Caller,
    input: Input,
    options: CallOptions = {},
  ): Promise<Output> => {
    const { id } = (input ?? {}) as Partial<Named>
    // The overloads see to it that there is a store where a run or delivery has to be looked up.
    await checkReach(ports as { readonly store: ReachStore }, reach, caller, id)
    return await perform(ports, caller, input, options)
  }
  return Object.assign(call, { reach })
}
