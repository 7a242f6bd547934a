/**
 * A subject that only one test uses: a pull request whose heads have short names, or the subject of
 * a job whose keys have them. It can put a key into every state that can be reached.
 */
import type { AuditRow } from '../../src/domain/audit.ts'
import type { Claim } from '../../src/domain/claim.ts'
import type { OnNewer, Outcome, Run, RunPolicy } from '../../src/domain/run.ts'
import type { Subject } from '../../src/domain/subject.ts'
import type { ClaimAnswer, LeaseAnswer } from '../../src/store.ts'
import {
  completion,
  jobClaim,
  leaseMs,
  leaseRequest,
  policy,
  pullRequestClaim,
  unique,
} from './claims.ts'
import type { World } from './world.ts'

export type Kind = 'pull request' | 'job'

export const activeStates = ['pending', 'running', 'expired'] as const
export const endedStates = ['succeeded', 'failed', 'cancelled', 'skipped'] as const
/** The states of a current key. `expired` is running with an expired lease. */
export const keyStates = [...activeStates, ...endedStates] as const
export type KeyState = (typeof keyStates)[number]

export interface TestSubjectOptions extends Partial<RunPolicy> {
  readonly kind?: Kind
}

export class TestSubject {
  readonly world: World
  readonly kind: Kind
  readonly policy: RunPolicy
  readonly repo = unique('acme/repo')
  readonly name = unique('subject')
  readonly type = unique('type')
  #subjectId: string | null = null

  constructor(world: World, options: TestSubjectOptions = {}) {
    const { kind = 'pull request', ...other } = options
    const onNewer: OnNewer = kind === 'pull request' ? 'supersede' : 'queue'
    this.world = world
    this.kind = kind
    this.policy = { ...policy, onNewer, ...other }
  }

  claimOf(name: string, over: Partial<Claim> = {}): Claim {
    const own = { type: this.type, policy: this.policy, ...over }
    if (this.kind === 'job') return jobClaim(`${this.name}:${name}`, this.name, own)
    return pullRequestClaim({ repo: this.repo, pr: 5, head: name }, own)
  }

  async claim(name: string, over: Partial<Claim> = {}): Promise<ClaimAnswer> {
    const answer = await this.world.store.runs.claim(this.claimOf(name, over), null)
    this.#subjectId = answer.run?.subjectId ?? this.#subjectId
    return answer
  }

  /** Leases, as a worker, the pending run of this subject that has waited longest. */
  async lease(): Promise<LeaseAnswer | null> {
    return await this.world.store.runs.lease(leaseRequest({ types: [this.type] }), null)
  }

  async complete(held: ClaimAnswer | LeaseAnswer, outcome: Outcome = 'succeeded'): Promise<Run> {
    return await this.world.store.runs.complete(completion(held, outcome), null)
  }

  /** Claims a key and brings it into this state. */
  async putInState(name: string, state: KeyState, over: Partial<Claim> = {}): Promise<ClaimAnswer> {
    if (state === 'pending') return await this.claim(name, { ...over, lease: null })
    const answer = await this.claim(name, over)
    if (state === 'expired') this.world.clock.move(leaseMs)
    else if (state === 'cancelled') await this.world.store.runs.cancel(answer.run!.id, 'test', null)
    else if (state !== 'running') await this.complete(answer, state)
    return answer
  }

  async run(name: string): Promise<Run> {
    const { key } = this.claimOf(name)
    const found = await this.world.store.runs.list({ key }, { limit: 10, cursor: null })
    const [run] = found.items.filter(({ type }) => type === this.type)
    if (run === undefined) throw new Error(`${name} has no run`)
    return run
  }

  async state(name: string): Promise<Run['state']> {
    return (await this.run(name)).state
  }

  async subject(): Promise<Subject> {
    const subject = await this.world.store.runs.subject(this.#subjectId ?? '')
    if (subject === null) throw new Error('nothing was claimed yet')
    return subject
  }

  /** Whether the subject's current key is this one. */
  async isCurrent(name: string): Promise<boolean> {
    return (await this.subject()).currentPair === this.claimOf(name).pair
  }

  /** Oldest first. */
  async audits(name: string): Promise<AuditRow[]> {
    const { id: runId } = await this.run(name)
    const { items } = await this.world.store.audit.list({ runId }, { limit: 1000, cursor: null })
    return items.toReversed()
  }
}
