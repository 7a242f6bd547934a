/**
 * An operation: one use case, the same for every door (HTTP, command line, library). It takes the
 * ports that it needs, the caller, and input that fits its schema in src/contract. It answers with
 * a view from there.
 *
 *     export const cancelRun = operation(
 *       { scopes: ['operator'], within: 'run' },
 *       async ({ runs, store }: Pick<OperationPorts, …>, caller, { id }: WithId) => …,
 *     )
 *
 * What must hold: an operation itself checks what the caller may reach, so no door can forget it. A
 * door may also check it earlier, before it reads a body (`operation.reach`).
 */
import type { IdempotencyKey } from '../store.ts'
import type { Caller } from './caller.ts'
import { checkReach, type Reach, type ReachStore } from './reach.ts'

/** Options of one call, which are not part of the input. */
export interface CallOptions {
  /** Stores the answer in the same commit as the effect, so a repeat gets the same answer. */
  readonly once?: IdempotencyKey | undefined
  /** Ends the wait early when it aborts. */
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

/** The id of the run, delivery, webhook or token that an operation is about. */
export interface WithId {
  readonly id: string
}

export function operation<
  Ports extends { readonly store: ReachStore },
  Input extends WithId,
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
    const { id } = (input ?? {}) as Partial<WithId>
    // The overloads ensure that there is a store if a run or delivery has to be read.
    await checkReach(ports as { readonly store: ReachStore }, reach, caller, id)
    return await perform(ports, caller, input, options)
  }
  return Object.assign(call, { reach })
}
