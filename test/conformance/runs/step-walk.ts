/**
 * The moves of a walk that are about steps. It checks rule 9 by itself: a step that has a result is
 * never begun again in its round, and its result never changes. And rule 2: whoever lost the run
 * changes nothing, except that it may store the result of a step that it began.
 */
import type { Run } from '../../../src/domain/run.ts'
import type { HeldDecision, StepAction } from '../../../src/domain/step.ts'
import type { ClaimAnswer, LeaseAnswer } from '../../../src/store.ts'
import { StepHolder } from '../steps/step-holder.ts'
import type { World } from '../world.ts'
import { orRefused } from './refusals.ts'

export interface StepMove {
  readonly verb: 'step'
  readonly act: StepAction['do']
  readonly pick: number
  readonly name: string
}

export interface DecideMove {
  readonly verb: 'decide'
  readonly pick: number
  readonly decision: HeldDecision['do']
}

type Held = ClaimAnswer | LeaseAnswer

const actions = {
  begin: { do: 'begin', policy: 'repeat' },
  'take-over': { do: 'take-over', policy: 'hold' },
  confirm: { do: 'confirm', result: '"confirmed"' },
  hold: { do: 'hold' },
  fail: { do: 'fail', errorCode: 'bad', errorText: 'it broke' },
  stopped: { do: 'stopped' },
} as const satisfies Partial<Record<StepAction['do'], StepAction>>

const decisions = {
  confirm: { do: 'confirm', result: '"decided"' },
  repeat: { do: 'repeat' },
  fail: { do: 'fail', text: null },
} as const satisfies Record<HeldDecision['do'], HeldDecision>

export class StepWalk {
  /** What happened: the answers, and how held steps were closed. */
  readonly seen = new Set<string>()
  readonly #world: World
  readonly #holders = new Map<Held, StepHolder>()
  /** How each step ended, by its run, round and name. */
  readonly #ends = new Map<string, string>()

  constructor(world: World) {
    this.#world = world
  }

  async take(held: Held, move: StepMove | DecideMove): Promise<void> {
    await (move.verb === 'step' ? this.#act(held, move) : this.#decide(held, move))
  }

  async #act(held: Held, { act, name }: StepMove): Promise<void> {
    const { runs } = this.#world.store
    const holder = this.#holderOf(held)
    const before = (await runs.get(holder.runId))!
    const holds = before.state === 'running' && before.fence === held.run?.fence
    const result = `"${holder.startId(name)}"`
    const action = act === 'record' ? ({ do: 'record', result } as const) : actions[act]
    const answer = await orRefused(holder.act(name, action))
    const isRepeatedHold = act === 'hold' && before.state === 'waiting'
    if (holds ? answer === null : answer !== null && !isRepeatedHold) {
      throw new Error(`${act} was wrongly decided`)
    }
    const after = (await runs.get(holder.runId))!
    this.seen.add(answer?.reply ?? 'refused')
    if (before.state === 'waiting' && after.state === 'pending') this.seen.add('closed by a result')
    this.#checkRun(before, after, holds && answer?.reply === 'held', act)
    const key = `${after.id} ${answer?.step?.round ?? after.round} ${name}`
    if (answer?.reply === 'began' && this.#ends.has(key)) {
      throw new Error(`${name} has a result and was begun again`)
    }
    await this.#checkEnd(after, name)
  }

  /** About the held step if there is one, otherwise about any. */
  async #decide(held: Held, { decision }: DecideMove): Promise<void> {
    const { store } = this.#world
    const { runId } = this.#holderOf(held)
    const before = await store.runs.get(runId)
    const steps = await store.steps.list(runId, null)
    const { name } = steps.find(({ state }) => state === 'held') ?? steps[0] ?? { name: 'none' }
    const request = { runId, name, actor: 'person', decision: decisions[decision] }
    const answer = await orRefused(store.steps.decide(request, null))
    if (answer !== null && before?.state !== 'waiting') throw new Error('nobody had to decide')
    if (answer !== null) this.seen.add('closed by a person')
    await this.#checkEnd((await store.runs.get(runId))!, name)
  }

  #holderOf(held: Held): StepHolder {
    const known = this.#holders.get(held) ?? new StepHolder(this.#world.store, held)
    this.#holders.set(held, known)
    return known
  }

  /** A step changes its run only by being held, or by the late result of a held one. */
  #checkRun(before: Run, after: Run, isHeld: boolean, verb: string): void {
    const isClosed = before.state === 'waiting' && after.state === 'pending'
    const mayChange = isHeld || (isClosed && (verb === 'record' || verb === 'fail'))
    if (after.rev !== before.rev && !mayChange) throw new Error(`${verb} changed the run`)
    if (after.attempt !== before.attempt) throw new Error(`${verb} changed the attempt`)
  }

  async #checkEnd({ id, round }: Run, name: string): Promise<void> {
    const step = await this.#world.store.steps.get(id, name)
    const key = `${id} ${round} ${name}`
    const end = step?.endedAt == null ? undefined : `${step.state} ${step.result ?? ''}`
    const known = this.#ends.get(key)
    if (known !== undefined && known !== end) throw new Error(`${name} was ${known}, now ${end}`)
    if (end !== undefined) this.#ends.set(key, end)
  }
}
