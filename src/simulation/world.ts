/**
 * A whole world in one process: a clock, a random generator, a database, a simulated GitHub and the
 * nodes. The seed decides everything that happens in it.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { SharedMemory } from '../open-store.ts'
import { withTypeDefaults } from '../settings/run-types/type-defaults.ts'
import type { Settings } from '../settings/settings.ts'
import { createGitHubSimulator, sendWebhooks } from '../simulator/index.ts'
import type { GitHubSimulator, WebhookSender } from '../simulator/index.ts'
import { Excuses } from './excuses.ts'
import { createLoadBalancer } from './load-balancer.ts'
import { SimulatedNode, webhookSecret, type Mutation } from './node.ts'
import type { SentRequest, Step } from './node-ports.ts'
import { SeededRandom } from './seeded-random.ts'
import { Story } from './story.ts'
import type { VirtualTime } from './virtual-time.ts'
import { openWork } from './work/open-work.ts'
import type { SimulatedWork } from './work/simulated-work.ts'

export const startOfTime = Date.UTC(2026, 5, 1, 12)
/** Two owners: an App has two installations there, each with its own limits. */
const repositoryNames = ['acme/widgets', 'acme/gears', 'umbrella/bolts'] as const
export const botLogin = 'holdfast-bot'
const app = { id: 4242, slug: 'holdfast' }
const token = 'ghp_of_the_simulation'

/** The key only proves who the App is, and no story depends on it. A short key is fast to use. */
let appKey: string | null = null
function appPrivateKey(): string {
  appKey ??= generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string
  return appKey
}

export interface WorldOptions {
  readonly seed: number
  readonly memory: SharedMemory
  readonly time: VirtualTime
  readonly mutation: Mutation
}

export type SentByNode = SentRequest & { readonly node: SimulatedNode }

export interface WorldRepository {
  /** GitHub's id. */
  readonly id: number
  /** The present name. */
  name: string
}

export interface WorldPull {
  readonly repo: WorldRepository
  readonly number: number
  /** All heads it had, the present one last. */
  readonly heads: string[]
  baseSha: string
  /** Earlier bases; it may come back to one of them. */
  readonly formerBases: string[]
  isOpen: boolean
}

/** The time between the copy and the restore of a database, by true time. */
export interface ForgottenTime {
  readonly from: number
  readonly until: number
  /** Deliveries that the restored copy contains; their real state may be newer. */
  readonly restoredDeliveryIds: ReadonlySet<unknown>
}

export type StepListener = (node: SimulatedNode, step: Step, about: string) => void

export class World {
  readonly seed: number
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly story: Story
  readonly memory: SharedMemory
  readonly github: GitHubSimulator
  readonly hooks: WebhookSender[] = []
  readonly repositories: WorldRepository[] = []
  readonly pulls: WorldPull[] = []
  readonly excuses: Excuses
  readonly nodes: readonly SimulatedNode[]
  /** The types of runs of pull requests. */
  readonly types: Settings['runs']
  /** What the nodes execute themselves; null in worlds where only workers do. */
  readonly work: SimulatedWork | null
  readonly isApp: boolean
  /** How far GitHub's clock is ahead of true time. */
  readonly aheadMs: number
  /** Requests of the nodes, by request id. */
  readonly sent = new Map<string, SentByNode>()
  /** Null unless the database was restored from an older copy. */
  forgotten: ForgottenTime | null = null
  /** When the store's clock was set, by true time, and by how much. */
  readonly clockJumps: { readonly at: number; readonly ms: number }[] = []
  readonly faultCounts = new Map<string, number>()
  /** Called at every step of a node, until one of them has crashed or paused it. */
  readonly onStep = new Set<StepListener>()
  /** Called after every commit. */
  onCommit: () => void = () => undefined
  /** Called when the database was restored. */
  onRestored: () => Promise<void> = () => Promise.resolve()
  /** Called when a node can take more or less work. */
  onAbility: () => void = () => undefined
  /** Called when the store did not answer a node that asked for runs. */
  onLeaseLost: () => void = () => undefined
  isQuiet = false
  readonly #balancer: typeof globalThis.fetch
  readonly #latencyMs: number
  /** How often people asked for a rerun, by run id or by commit. */
  readonly #rerunRequests = new Map<string, number>()

  constructor({ seed, memory, time, mutation }: WorldOptions) {
    this.seed = seed
    this.time = time
    this.memory = memory
    this.random = new SeededRandom(seed)
    this.story = new Story(time)
    const { random } = this
    this.excuses = new Excuses(time)
    this.isApp = random.chance(50)
    const work = openWork(this, chooseTypes(random))
    this.types = work.types
    this.work = work.work
    const aheadMs = random.pick([0, 0, 0, 0, 2000, 90_000, -20_000])
    this.aheadMs = aheadMs
    if (aheadMs !== 0) this.countFault('GitHub clock differs')
    this.github = createGitHubSimulator({
      // Clock faults never change GitHub's clock.
      clock: { wallMs: () => time.trueMs(), monotonicMs: () => time.monotonicMs() },
      scheduler: time,
      random: random.fork(),
      aheadMs,
      ...(this.isApp
        ? { app: { ...app, privateKey: appPrivateKey() } }
        : { tokens: [{ token, login: botLogin }] }),
    })
    this.#balancer = createLoadBalancer(this)
    if (this.isApp) this.#addHook({})
    for (const name of repositoryNames) this.addRepository(name)
    this.#latencyMs = random.pick([0, 0, 200, 1500, 4000])
    this.nodes = this.#makeNodes(random.pick([1, 2, 2, 2, 3]), mutation)
  }

  /** The login under which Holdfast writes. */
  get ourLogin(): string {
    return this.isApp ? `${app.slug}[bot]` : botLogin
  }

  addRepository(name: string): WorldRepository {
    const { id } = this.github.addRepository(name)
    const repository = { id, name }
    this.repositories.push(repository)
    if (!this.isApp) this.#addHook({ repo: name })
    return repository
  }

  #addHook(of: { readonly repo?: string }): void {
    const url = 'https://holdfast.test/webhooks/github'
    const events = ['pull_request', 'check_run']
    const where = { url, secret: webhookSecret, fetch: this.#balancer, events }
    this.hooks.push(sendWebhooks(this.github, { ...where, ...of }))
  }

  countFault(kind: string, times = 1): void {
    this.faultCounts.set(kind, (this.faultCounts.get(kind) ?? 0) + times)
  }

  /** A person asks for a rerun of a run (by id) or of all runs on a commit (by SHA). */
  requestRerun(target: string): void {
    this.#rerunRequests.set(target, this.rerunRequestsFor(target) + 1)
  }

  rerunRequestsFor(target: string): number {
    return this.#rerunRequests.get(target) ?? 0
  }

  /** True when the database knows nothing of that time, because a restore has lost it. */
  isForgotten(at: number): boolean {
    return this.forgotten !== null && at >= this.forgotten.from && at <= this.forgotten.until
  }

  /** A node that takes requests; null when there is none. */
  someNode(random: SeededRandom = this.random): SimulatedNode | null {
    return random.pickFrom(this.nodes.filter(({ running }) => running !== null)) ?? null
  }

  reportStep(node: SimulatedNode, step: Step, about: string): void {
    for (const listen of this.onStep) if (node.state === 'up') listen(node, step, about)
  }

  #makeNodes(count: number, mutation: Mutation): SimulatedNode[] {
    const { time, memory, story, types, work } = this
    return Array.from({ length: count }, (_, index) => {
      const node: SimulatedNode = new SimulatedNode({
        name: `node ${index + 1}`,
        ...{ time, memory, story, types, work, mutation },
        onChange: () => this.onAbility(),
        random: this.random.fork(),
        isAlone: count === 1,
        latencyMs: this.#latencyMs,
        fetch: this.github.fetch,
        credentials: this.isApp
          ? { appId: String(app.id), privateKey: appPrivateKey() }
          : { token },
        onRequest: (sent) => void this.sent.set(sent.requestId, Object.assign(sent, { node })),
        onStep: (who, step, about) => {
          if (step === 'after commit') this.onCommit()
          this.reportStep(who, step, about)
        },
      })
      return node
    })
  }
}

/** All timeouts are short enough to expire within the quiet hours. */
function chooseTypes(random: SeededRandom): Settings['runs'] {
  const minuteMs = 60_000
  const ends = { timeoutMs: 4 * minuteMs, pendingTimeoutMs: 6 * minuteMs }
  const on = { pull_request: ['opened', 'reopened', 'ready_for_review', 'synchronize', 'edited'] }
  const rerunOn = { check_run: ['rerequested'] }
  const second = { on, ...ends, anchor: { per: 'run' }, status: { context: 'ci/lint' } } as const
  const review = { on, rerunOn, ...ends }
  return withTypeDefaults({ runs: { review, ...(random.chance(30) && { lint: second }) } }).runs
}
