/**
 * A random walk through the store's verbs. It remembers every lease that was granted, and knows for
 * each whether it is still valid: a write with an invalid lease must be refused and change nothing.
 */
import type { ClaimAnswer, LeaseAnswer } from '../../../src/store.ts'
import { completion, holderOf, leaseMs, sha } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import type { World } from '../world.ts'
import { orRefused } from './refusals.ts'
import { StepWalk, type DecideMove, type StepMove } from './step-walk.ts'

export interface ClaimStep {
  readonly verb: 'claim'
  readonly subject: number
  readonly head: string
  readonly eventAt: number | null
  readonly headMaking: boolean
  readonly leased: boolean
  readonly rerun: boolean
}

export type Step =
  | ClaimStep
  | { readonly verb: 'lease'; readonly subject: number }
  | {
      readonly verb: 'succeed' | 'fail' | 'skip' | 'heartbeat' | 'release' | 'cancel' | 'rerun'
      readonly pick: number
    }
  | {
      readonly verb: 'settle'
      readonly pick: number
      readonly head: string
      readonly eventAt: number
    }
  | { readonly verb: 'pass'; readonly leases: number }
  | { readonly verb: 'sweep' }
  | StepMove
  | DecideMove

type Held = ClaimAnswer | LeaseAnswer
type Verb = Step['verb']

/** The expected order of the superseding subject's heads, computed independently of the store. */
interface ExpectedOrder {
  current: string | null
  floor: number
}

export class Walk {
  readonly world: World
  readonly subjects: readonly TestSubject[]
  readonly #held: Held[] = []
  readonly steps: StepWalk
  /** An answer that is a little older than our head counts if the question is a minute old. */
  #minutesPassed = false
  readonly #order: ExpectedOrder = { current: null, floor: -Infinity }

  /** `attempts`: how many holders of a round may be lost. */
  constructor(world: World, attempts = 2) {
    this.world = world
    this.steps = new StepWalk(world)
    this.subjects = [
      new TestSubject(world, { attempts }),
      new TestSubject(world, { attempts, kind: 'job' }),
      new TestSubject(world, { attempts, kind: 'job', onNewer: 'skip' }),
    ]
  }

  async take(step: Step): Promise<void> {
    switch (step.verb) {
      case 'claim':
        await this.#claim(step)
        break
      case 'lease':
        await this.#lease(this.subjects[step.subject]!)
        break
      case 'pass':
        this.world.clock.move(step.leases * leaseMs)
        this.#minutesPassed ||= step.leases > 0
        break
      case 'sweep':
        for (const id of await this.world.store.runs.due(1000))
          await this.world.store.runs.sweep(id)
        break
      case 'settle':
        await this.#settle(step)
        break
      case 'step':
      case 'decide': {
        const held = this.#held.at(-1 - (step.pick % Math.max(1, this.#held.length)))
        if (held !== undefined) await this.steps.take(held, step)
        break
      }
      default:
        await this.#write(step.verb, step.pick)
    }
  }

  async #lease(subject: TestSubject): Promise<void> {
    const leased = await subject.lease()
    if (leased !== null) this.#held.push(leased)
  }

  async #claim(step: ClaimStep): Promise<void> {
    const subject = this.subjects[step.subject]!
    const { rerun, eventAt } = step
    const headMaking = step.headMaking && !rerun
    const over = { eventAt, headMaking, rerun, ...(!step.leased && { lease: null }) }
    const answer = await orRefused(subject.claim(step.head, over))
    if (answer === null) return
    if (answer.lease !== null) this.#held.push(answer)
    if (step.subject === 0) this.#checkOrder(step.head, headMaking ? eventAt : null, answer)
  }

  #checkOrder(head: string, madeAt: number | null, answer: ClaimAnswer): void {
    const order = this.#order
    const mustBeStale = head !== order.current && madeAt !== null && madeAt < order.floor
    if (mustBeStale !== (answer.reason === 'stale-event') && madeAt !== null) {
      throw new Error(`${head} at ${madeAt} above ${order.floor} was ${answer.reason}`)
    }
    if (answer.reason === 'stale-event') return
    order.current = head
    if (madeAt !== null) order.floor = Math.max(order.floor, madeAt)
  }

  async #settle(step: Extract<Step, { verb: 'settle' }>): Promise<void> {
    const subject = this.subjects[0]!
    const list = await this.world.store.runs.list(
      { type: subject.type },
      { limit: 100, cursor: null },
    )
    const run = list.items[step.pick % Math.max(1, list.items.length)]
    if (run === undefined) return
    const before = await subject.subject()
    const headSha = sha(step.head)
    const { id: runId, fence } = run
    const seen = { headSha, baseSha: sha('main'), at: step.eventAt }
    await this.world.store.runs.confirmHead({ runId, fence, ...seen, actor: 'check' })
    const after = await subject.subject()
    const moved = after.currentPair !== before.currentPair
    if (moved && step.eventAt < this.#order.floor && !this.#minutesPassed) {
      throw new Error('an old look moved the head')
    }
    if (after.headSha === headSha) this.#order.current = step.head
    this.#order.floor = Math.max(this.#order.floor, after.floorAt ?? -Infinity)
  }

  async #write(verb: Verb, pick: number): Promise<void> {
    const held = this.#held[pick % Math.max(1, this.#held.length)]
    if (held?.run == null) return
    const { store } = this.world
    const runId = held.run.id
    if (verb === 'cancel' || verb === 'rerun') {
      const asks = verb === 'cancel' ? store.runs.cancel(runId, 'person', null) : null
      await orRefused<unknown>(asks ?? store.runs.rerun(runId, 'person', null))
      return
    }
    const before = await store.runs.get(runId)
    const counts = before?.state === 'running' && before.fence === held.run.fence
    const repeats = before?.completedLeaseHash === holderOf(held).leaseHash
    const answer = await orRefused(this.#writeAsHolder(verb, held))
    const after = await store.runs.get(runId)
    const isCompletion = verb !== 'heartbeat' && verb !== 'release'
    const mayAnswer = counts || (repeats && isCompletion)
    if (mayAnswer !== (answer !== null)) throw new Error(`${verb} was wrongly decided`)
    if (!counts && after?.rev !== before?.rev) throw new Error(`an old ${verb} changed something`)
  }

  async #writeAsHolder(verb: Verb, held: Held): Promise<unknown> {
    const { store } = this.world
    if (verb === 'heartbeat') return await store.runs.heartbeat(holderOf(held), null)
    if (verb === 'release') return await store.runs.release(holderOf(held), null)
    const outcome = verb === 'succeed' ? 'succeeded' : verb === 'fail' ? 'failed' : 'skipped'
    return await store.runs.complete(completion(held, outcome), null)
  }
}
