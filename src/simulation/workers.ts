/**
 * Workers of the simulated world. They lease runs from any node that answers, report, publish and
 * complete them. Some disappear, come back too late, ignore that their run was stopped, or complete
 * twice.
 */
import { allRights, type ChannelName } from '../channels/github-channels.ts'
import type { Outcome } from '../domain/run.ts'
import { ConflictError } from '../errors.ts'
import { delay } from '../scheduler.ts'
import { hashLeaseToken } from '../secrets.ts'
import type { RunningNode } from './node.ts'
import type { SeededRandom } from './seeded-random.ts'
import { RemoteSteps } from './work/remote-steps.ts'
import type { StepListener, World } from './world.ts'

const answerWaitMs = 15_000
/** Reads of comments, reviews, statuses and check runs. */
const publisherReads = /^GET .*\/(comments|reviews|statuses|check-runs)(\/\d+)?$/

/** The answer that a worker got; the rules check that the store agrees. */
export interface AnsweredCompletion {
  readonly runId: string
  readonly actor: string
  readonly outcome: Outcome
  readonly verdict: 'success' | 'failure' | 'neutral'
  readonly summary: string
  readonly answer: 'done' | 'refused' | 'unknown'
  /** True time of the answer. */
  readonly at: number
}

export interface AnsweredPublication {
  readonly runId: string
  readonly name: string
  readonly channel: ChannelName
  readonly text: string
  /** True time of the answer. */
  readonly at: number
}

interface HeldRun {
  readonly runId: string
  readonly leaseHash: string
  readonly actor: string
}

type Answer<T> = { readonly value: T } | { readonly refused: ConflictError } | null

export class Workers {
  readonly completions: AnsweredCompletion[] = []
  readonly publications: AnsweredPublication[] = []
  readonly #world: World
  readonly #random: SeededRandom
  readonly #steps: RemoteSteps | null
  #leases = 0
  #texts = 0

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
    this.#steps =
      world.work &&
      new RemoteSteps(world, world.work, async (request) => {
        const answer = await this.#call(({ runs }) => runs.actOnStep(request))
        if (answer === null) return 'no answer'
        return 'value' in answer ? answer.value : 'refused'
      })
  }

  start(count: number): void {
    for (let index = 1; index <= count; index += 1) void this.#work(`worker ${index}`)
  }

  async #work(name: string): Promise<never> {
    const { time, work } = this.#world
    const all = Object.keys(this.#world.types)
    const types = work === null ? undefined : all.filter((type) => !work.executed.includes(type))
    for (;;) {
      // In quiet hours they ask for work less often, so that fewer steps are simulated.
      const pauseMs = this.#world.isQuiet ? 60_000 : 2000
      await delay(time, 500 + this.#random.below(pauseMs))
      const actor = `${name}/${(this.#leases += 1)}`
      const leased = await this.#call(({ runs }) => runs.lease({ worker: name, types }, actor))
      if (leased === null || !('value' in leased) || leased.value === null) continue
      const given = leased.value
      const { run, lease } = given
      const held = { runId: run.id, leaseHash: hashLeaseToken(lease.token), actor }
      const doSteps = async (): Promise<boolean> =>
        (await this.#steps?.doAll({ ...held, leased: given })) ?? true
      await this.#workOn(held, doSteps)
    }
  }

  /** `doSteps`: false if the worker has to stop. */
  async #workOn(held: HeldRun, doSteps: () => Promise<boolean>): Promise<void> {
    const { time, isQuiet, story } = this.#world
    const random = this.#random
    const roll = isQuiet ? 99 : random.below(100)
    if (roll < 8) {
      this.#world.countFault('worker lost')
      story.add(held.actor, `disappears with ${held.runId}`)
      return
    }
    if (roll < 13) {
      await this.#call(({ runs }) => runs.release(held.runId, held.leaseHash, held.actor))
      return
    }
    const isLate = roll < 24
    const isStubborn = roll < 30
    if (isLate) {
      this.#world.countFault('worker late')
      // Until its lease has just expired, or well after that.
      await delay(time, random.pick([28_000, 35_000]) + random.below(random.pick([12_000, 60_000])))
    }
    if (!(await doSteps())) return
    // Some publish at the start, some at the end, some never.
    const publishes = random.pick(['first', 'last', 'never'])
    if (publishes === 'first') await this.#publishAll(held)
    for (let reports = random.below(random.pick([3, 5, 8, 12])); reports > 0; reports -= 1) {
      await this.#waitUpTo(5000)
      const answer = await this.#report(held)
      if (answer !== null && 'refused' in answer && !isStubborn) return
    }
    if (publishes === 'last') await this.#publishAll(held)
    await this.#waitUpTo(6000)
    await this.#complete(held)
    if (random.chance(10)) await this.#complete(held)
  }

  /** Some workers continue exactly when a node looks at GitHub. */
  async #waitUpTo(msMax: number): Promise<void> {
    const { time, onStep } = this.#world
    const waitMs = this.#random.below(msMax)
    if (!this.#random.chance(40)) {
      await delay(time, waitMs)
      return
    }
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        onStep.delete(listen)
        stopWaiting()
        resolve()
      }
      const stopWaiting = time.after(waitMs, goOn)
      const listen: StepListener = (_node, step, about) => {
        if (step === 'before request' && publisherReads.test(about)) goOn()
      }
      onStep.add(listen)
    })
  }

  #report(held: HeldRun): Promise<Answer<unknown>> {
    const { runId, leaseHash, actor } = held
    if (this.#random.chance(35)) {
      return this.#call(({ runs }) => runs.heartbeat({ runId, leaseHash }, actor))
    }
    const text = this.#text('at work')
    return this.#call(({ store }) =>
      store.runs.reportStatus({ runId, leaseHash, actor, text }, null),
    )
  }

  /** Publishes one or two outputs, or sometimes so many that sending takes minutes. */
  async #publishAll(held: HeldRun): Promise<void> {
    const count = this.#random.chance(3) ? 25 : this.#random.between(1, 2)
    if (count > 2) this.#world.countFault('worker backlog')
    for (let index = 0; index < count; index += 1) await this.#publish(held, `output-${index}`)
  }

  async #publish({ runId, leaseHash, actor }: HeldRun, name: string): Promise<void> {
    const text = this.#text('own output')
    const [channel, content] = this.#output(text)
    const request = {
      runId,
      leaseHash,
      actor,
      name,
      channel,
      content,
      rightsOf: () => allRights,
    }
    const answer = await this.#call(({ store }) => store.outbox.publish(request, null))
    if (answer === null || !('value' in answer) || answer.value.already) return
    this.publications.push({ runId, name, channel, text, at: this.#world.time.trueMs() })
  }

  #output(text: string): readonly [ChannelName, Readonly<Record<string, unknown>>] {
    const context = `own/${this.#random.below(2)}`
    const status = { context, state: 'pending', description: text, targetUrl: null }
    const review = { body: text, event: 'COMMENT', commitSha: null, comments: [] }
    const times = { startedAt: null, completedAt: null, detailsUrl: null }
    const check = { name: 'own', status: 'in_progress', conclusion: null, title: text, ...times }
    // Only an App may write check runs.
    if (this.#world.isApp && this.#random.chance(30)) {
      return ['github-check', { ...check, summary: text }]
    }
    return this.#random.pick([
      ['github-comment', { form: 'text', body: text }],
      ['github-status', status],
      ['github-status', { ...status, state: 'success' }],
      ['github-label', { label: text, present: true }],
      ['github-label', { label: this.#labelSetBefore() ?? text, present: false }],
      ['github-review', review],
      ['github-review', review],
      ['github-review', review],
    ])
  }

  async #complete({ runId, leaseHash, actor }: HeldRun): Promise<void> {
    const outcome = this.#random.pick(['succeeded', 'succeeded', 'succeeded', 'failed', 'skipped'])
    const verdict = this.#random.pick(['success', 'success', 'failure', 'neutral'])
    const summary = this.#text('summary')
    const error = { code: 'tests_failed', text: this.#text('error') }
    const request = {
      ...{ runId, leaseHash, outcome, summary },
      ...(outcome === 'succeeded' && { verdict }),
      ...(outcome === 'failed' && { error }),
    }
    const completed = await this.#call(({ runs }) => runs.complete(request, actor))
    const answer = completed === null ? 'unknown' : 'value' in completed ? 'done' : 'refused'
    const at = this.#world.time.trueMs()
    this.completions.push({ runId, actor, outcome, verdict, summary, answer, at })
  }

  /** A label that some worker has set before. */
  #labelSetBefore(): string | undefined {
    const set = this.publications.filter(({ channel }) => channel === 'github-label')
    return this.#random.pickFrom(set)?.text
  }

  /** Every text is unique, so that the rules can recognise it on GitHub. */
  #text(what: string): string {
    return `${what} ${(this.#texts += 1)}.`
  }

  /** Null when no answer came, or an error that is not a conflict. */
  async #call<T>(act: (node: RunningNode) => Promise<T>): Promise<Answer<T>> {
    const { time } = this.#world
    const running = this.#world.someNode(this.#random)?.running ?? null
    if (running === null) return null
    const answered: Promise<Answer<T>> = act(running).then(
      (value) => ({ value }),
      (error: unknown) => (error instanceof ConflictError ? { refused: error } : null),
    )
    return await new Promise<Answer<T>>((resolve) => {
      const stopWaiting = time.after(answerWaitMs, () => resolve(null))
      void answered.then(resolve).finally(stopWaiting)
    })
  }
}
