/**
 * One node of the simulated installation: the real intake, runs, sweeper and publisher, over ports
 * that a crash can cut. A new start after a crash knows only what is in the database.
 */
import type { SharedMemory } from '../open-store.ts'
import type { GitHubConnection } from '../github.ts'
import { createGitHub } from '../github/create-github.ts'
import type { Intake } from '../intake/intake.ts'
import type { Log } from '../log.ts'
import { learnRename } from '../learn-rename.ts'
import { noMetrics } from '../metrics.ts'
import { openNode, type HoldfastNode } from '../node.ts'
import type { Engine } from '../engine.ts'
import { createEmbeddedEngine } from '../open-engine.ts'
import type { RunsService } from '../runs/create-runs.ts'
import { runPolicy } from '../settings/run-types/run-policy.ts'
import { withTypeDefaults } from '../settings/run-types/type-defaults.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../store.ts'
import { NodePorts, type Pace, type PortsOptions, type Step } from './node-ports.ts'
import { replaceParts } from './replace-parts.ts'
import type { Story } from './story.ts'
import type { SimulatedWork, WorkingNode } from './work/simulated-work.ts'

export const webhookSecret = 'a secret of the simulation'
const leaseMs = 30_000
const limits = { spacingMs: 400, perMinute: 80, perHour: 500 }
const { retention } = withTypeDefaults({})

/** Parts of the product that a test replaces with faulty ones, which the rules must notice. */
export interface Mutation {
  readonly store?: (store: Store, tamper: Tamper) => Store
  readonly fetch?: (fetch: typeof globalThis.fetch) => typeof globalThis.fetch
  readonly github?: (github: GitHubConnection) => GitHubConnection
  readonly engine?: (engine: Engine) => Engine
}

/** Changes rows without the store, for faults that no method of the store can make. */
export type Tamper = (statement: string) => Promise<void>

export interface NodeOptions extends Omit<PortsOptions, 'onStep'> {
  readonly name: string
  readonly memory: SharedMemory
  readonly story: Story
  readonly types: Settings['runs']
  readonly credentials: Parameters<typeof createGitHub>[0]['credentials']
  /** True for an only node, as on SQLite: it may take the leases of its last start at once. */
  readonly isAlone: boolean
  /** Null if the nodes execute nothing themselves. */
  readonly work: SimulatedWork | null
  /** It takes requests now, or takes none any more. */
  readonly onChange: () => void
  readonly mutation: Mutation
  readonly onStep: (node: SimulatedNode, ...step: Parameters<PortsOptions['onStep']>) => void
}

export interface RunningNode {
  readonly store: Store
  readonly runs: RunsService
  readonly intake: Intake
}

export class SimulatedNode {
  readonly name: string
  readonly #options: NodeOptions
  #ports: NodePorts | null = null
  #running: RunningNode | null = null
  #generation = 0
  /** Keeps it stopped while the database is being restored. */
  mayNotStart = false
  /** When it crashed or paused, by true time. It may have lost an answer that came just before. */
  readonly interruptedAt: number[] = []

  constructor(options: NodeOptions) {
    this.name = options.name
    this.#options = options
  }

  get generation(): number {
    return this.#generation
  }

  get state(): 'up' | 'paused' | 'dead' {
    return this.#ports?.state ?? 'dead'
  }

  /** Null while it takes no requests. */
  get running(): RunningNode | null {
    return this.#ports?.state === 'up' ? this.#running : null
  }

  start(): void {
    if (this.state !== 'dead' || this.mayNotStart) return
    this.#generation += 1
    this.#options.story.add(this.name, `starts, generation ${this.#generation}`)
    const { onStep, mutation } = this.#options
    const connection = mutation.fetch?.(this.#options.fetch) ?? this.#options.fetch
    const ports = new NodePorts({
      ...this.#options,
      fetch: connection,
      onStep: (step, about) => {
        if (this.#ports === ports) onStep(this, step, about)
      },
    })
    this.#ports = ports
    void this.#run(ports)
  }

  crash(why: string): void {
    if (this.state === 'dead') return
    this.#options.story.add(this.name, `crashes ${why}`)
    this.interruptedAt.push(this.#options.time.trueMs())
    this.#ports?.crash()
    this.#running = null
    this.#options.onChange()
  }

  pause(ms: number, why: string): void {
    if (this.state !== 'up') return
    this.#options.story.add(this.name, `pauses for ${ms} ms ${why}`)
    const ports = this.#ports
    this.interruptedAt.push(this.#options.time.trueMs())
    ports?.pause()
    this.#options.onChange()
    this.#options.time.after(ms, () => {
      if (this.#ports !== ports || ports?.state !== 'paused') return
      this.#options.story.add(this.name, 'continues')
      this.resume()
    })
  }

  resume(): void {
    this.#ports?.resume()
    this.#options.onChange()
  }

  set pace(pace: Pace) {
    if (this.#ports !== null) this.#ports.pace = pace
  }

  async #run(ports: NodePorts): Promise<void> {
    const { memory, time, random, mutation } = this.#options
    const { scheduler } = ports
    const opened = memory.open(ports, { clock: time, random, scheduler })
    const tamper: Tamper = async (statement) => {
      await memory.select(statement)
    }
    const store = this.#withFaults(mutation.store?.(opened, tamper) ?? opened, ports)
    await store.upkeep.recordMode('live')
    const node = this.#openNode(store, ports)
    await node.prepare()
    await node.start()
    this.#running = { store, runs: node.runs, intake: node.intake.intake }
    this.#options.onChange()
  }

  #withFaults(store: Store, ports: NodePorts): Store {
    const { work } = this.#options
    return withSteps(work?.lostAnswers.over(store) ?? store, ports)
  }

  #openNode(store: Store, ports: NodePorts): HoldfastNode {
    const { time: clock, random, story, types, credentials, isAlone } = this.#options
    const { scheduler, fetch: connection } = ports
    const log = story.createLog(this.name)
    const environment = { clock, random, scheduler, log }
    const connected = createGitHub({
      ...environment,
      apiUrl: 'https://api.github.test',
      publicUrl: null,
      events: [],
      version: '0.0.0',
      fetch: connection,
      credentials,
      onRenamed: (...renamed) => void learnRename(store, ...renamed, 'github'),
    })
    const { mutation, work } = this.#options
    const github = mutation.github?.(connected) ?? connected
    const githubAppId = 'appId' in credentials ? credentials.appId : null
    const policies = { runs: work?.types ?? types, locale: 'en', githubAppId }
    const engine = work?.engine({ name: this.name, ports }) ?? createEmbeddedEngine(scheduler)
    return openNode({
      ...environment,
      ...{ store, types, leaseMs, limits, retention, metrics: noMetrics, isAlone },
      schedulerFor: (loop) => ports.schedulerFor(loop),
      policyOf: (type, kind) => runPolicy(policies, type, kind),
      webhookSecrets: [webhookSecret],
      ask: github,
      publishTo: github,
      engine: mutation.engine?.(engine) ?? engine,
      role: 'server',
      work: work?.open(this.#working(store, ports, log)) ?? null,
    })
  }

  #working(store: Store, ports: NodePorts, log: Log): WorkingNode {
    const { name, generation, interruptedAt } = this
    return {
      ...{ name, generation, interruptedAt, store, ports, log },
      crash: (why) => this.#ports === ports && this.crash(why),
      start: () => this.start(),
    }
  }
}

/** Adds the steps around an attempt and around what a step stores, where a node can be hit. */
function withSteps(store: Store, ports: NodePorts): Store {
  const { outbox } = store
  const reach = async (step: Step, action: string, deliveryId: string): Promise<void> => {
    const delivery = await outbox.delivery(deliveryId)
    await ports.reach(step, `${action} ${delivery?.channel ?? ''}`)
  }
  const beginAttempt: typeof outbox.beginAttempt = async (request) => {
    const answer = await outbox.beginAttempt(request)
    if (answer.result === 'begun')
      await reach('after begin attempt', request.action, request.lease.deliveryId)
    return answer
  }
  const endAttempt: typeof outbox.endAttempt = async (hold, report) => {
    await reach('before end attempt', report.attempt.action, hold.deliveryId)
    return await outbox.endAttempt(hold, report)
  }
  const act: typeof store.steps.act = async (request) => {
    const about = `${request.action.do} ${request.name} of ${request.runId}`
    await ports.reach('before step write', about)
    const answer = await store.steps.act(request)
    await ports.reach('after step write', about)
    return answer
  }
  return replaceParts(store, {
    outbox: replaceParts(outbox, { beginAttempt, endAttempt }),
    steps: replaceParts(store.steps, { act }),
  })
}
