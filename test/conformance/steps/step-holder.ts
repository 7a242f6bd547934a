/** A holder of a run, and what it does with steps. */
import type { HeldDecision, Step, StepAction, StepPolicy } from '../../../src/domain/step.ts'
import type {
  ClaimAnswer,
  LeaseAnswer,
  Store,
  StepAnswer,
  StepRequest,
} from '../../../src/store.ts'
import { holderOf, leaseMs, leaseRequest, unique } from '../claims.ts'
import { TestSubject, type TestSubjectOptions } from '../test-subject.ts'
import type { World } from '../world.ts'

export class StepHolder {
  readonly runId: string
  readonly #store: Store
  readonly #leaseHash: string
  readonly #codeVersion: string | null
  /** The start ids that this holder chose, by the name of the step. */
  readonly #startIds = new Map<string, string>()

  constructor(store: Store, held: ClaimAnswer | LeaseAnswer, codeVersion: string | null = null) {
    const { runId, leaseHash } = holderOf(held)
    this.#store = store
    this.runId = runId
    this.#leaseHash = leaseHash
    this.#codeVersion = codeVersion
  }

  startId(name: string): string {
    const known = this.#startIds.get(name) ?? unique('start')
    this.#startIds.set(name, known)
    return known
  }

  /** Chooses this start id, which another holder may have chosen too. */
  choose(name: string, startId: string): void {
    this.#startIds.set(name, startId)
  }

  /** Forgets its beginning: the next one has another start id. */
  forget(name: string): void {
    this.#startIds.delete(name)
  }

  request(name: string, action: StepAction): StepRequest {
    const own = { runId: this.runId, leaseHash: this.#leaseHash, codeVersion: this.#codeVersion }
    return { ...own, name, startId: this.startId(name), actor: 'holder', action }
  }

  act(name: string, action: StepAction): Promise<StepAnswer> {
    return this.#store.steps.act(this.request(name, action))
  }

  begin(name: string, policy: StepPolicy = 'repeat'): Promise<StepAnswer> {
    return this.act(name, { do: 'begin', policy })
  }

  takeOver(name: string, policy: StepPolicy = 'repeat'): Promise<StepAnswer> {
    return this.act(name, { do: 'take-over', policy })
  }

  record(name: string, result = '"done"'): Promise<StepAnswer> {
    return this.act(name, { do: 'record', result })
  }

  fail(name: string): Promise<StepAnswer> {
    return this.act(name, { do: 'fail', errorCode: 'bad', errorText: 'it broke' })
  }

  confirm(name: string, result = '"confirmed"'): Promise<StepAnswer> {
    return this.act(name, { do: 'confirm', result })
  }

  hold(name: string): Promise<StepAnswer> {
    return this.act(name, { do: 'hold' })
  }
}

/** A run that workers lease, with what tests of its steps need. */
export class SteppedRun {
  readonly subject: TestSubject
  readonly #world: World

  constructor(world: World, options: TestSubjectOptions = {}) {
    this.#world = world
    this.subject = new TestSubject(world, options)
  }

  get runId(): Promise<string> {
    return this.subject.run('a').then(({ id }) => id)
  }

  /** Claims the run and leaves it to workers. */
  async claim(): Promise<void> {
    await this.subject.claim('a', { lease: null })
  }

  /** The next holder of the run. */
  async lease(codeVersion: string | null = null): Promise<StepHolder> {
    const leased = await this.subject.lease()
    if (leased === null) throw new Error('there is no run to lease')
    return new StepHolder(this.#world.store, leased, codeVersion)
  }

  /** A holder whose token can be revoked. */
  async leaseWithToken(): Promise<{ readonly holder: StepHolder; readonly revoke: () => unknown }> {
    const { store } = this.#world
    const secret = unique('token')
    const newToken = { scope: 'worker', name: null, userId: null, secret, actor: 'ann' }
    const { token } = await store.tokens.create(newToken, null)
    const bound = { ...leaseRequest().grant, token: { id: token.id, until: null } }
    const request = leaseRequest({ grant: bound, types: [this.subject.type] })
    const holder = new StepHolder(store, (await store.runs.lease(request, null))!)
    return { holder, revoke: () => store.tokens.revoke(token.id, 'ann') }
  }

  /** Further holders that give the run back at once. */
  async passOn(holders: number): Promise<void> {
    for (let i = 0; i < holders; i++) {
      const leased = await this.subject.lease()
      await this.#world.store.runs.release(holderOf(leased!), null)
    }
  }

  async first(): Promise<StepHolder> {
    await this.claim()
    return await this.lease()
  }

  /** The holder is silent, and the sweeper takes the run away from it. */
  async loseHolder(): Promise<void> {
    this.#world.clock.move(leaseMs)
    await this.#world.store.runs.sweep(await this.runId)
  }

  /** Another holder, after the one before began this step and was lost. */
  async inDoubt(name: string): Promise<{ readonly lost: StepHolder; readonly next: StepHolder }> {
    const lost = await this.first()
    await lost.begin(name)
    await this.loseHolder()
    return { lost, next: await this.lease() }
  }

  /** The step is held for a person. */
  async held(name: string): Promise<{ readonly lost: StepHolder; readonly next: StepHolder }> {
    const holders = await this.inDoubt(name)
    await holders.next.begin(name, 'hold')
    await holders.next.hold(name)
    return holders
  }

  async decide(name: string, decision: HeldDecision) {
    const request = { runId: await this.runId, name, actor: 'ann', decision }
    return await this.#world.store.steps.decide(request, null)
  }

  async step(name: string): Promise<Step> {
    const step = await this.#world.store.steps.get(await this.runId, name)
    if (step === null) throw new Error(`there is no step ${name}`)
    return step
  }

  /** The types of the audit rows about steps, oldest first. */
  async audits(): Promise<readonly string[]> {
    const rows = await this.subject.audits('a')
    return rows.map(({ type }) => type).filter((type) => /^(step\.|operator\.step_)/.test(type))
  }
}

export const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no error',
    (error: unknown) => String((error as { readonly code?: string }).code),
  )
