/**
 * A whole world in one process: one time, one chance, one database, one simulated GitHub and the
 * nodes between them. Everything that may happen in it happens by the seed.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { SharedMemory } from '../open-store.ts'
import { withTypeDefaults } from '../settings/type-defaults.ts'
import type { Settings } from '../settings/settings.ts'
import { createGitHubSimulator, sendWebhooks } from '../simulator/index.ts'
import type { GitHubSimulator, WebhookSender } from '../simulator/index.ts'
import { Decisions } from './decisions.ts'
import { Excuses } from './excuses.ts'
import { createLoadBalancer } from './load-balancer.ts'
import { SimulatedNode, webhookSecret, type Mutation } from './node.ts'
import type { SentRequest, Step } from './node-ports.ts'
import { SeededRandom } from './seeded-random.ts'
import { Story } from './story.ts'
import type { VirtualTime } from './virtual-time.ts'

export const startOfTime = Date.UTC(2026, 5, 1, 12)
/** Of two owners: an App acts there under two installations, each with limits of its own. */
const repositoryNames = ['acme/widgets', 'acme/gears', 'umbrella/bolts'] as const
export const botLogin = 'holdfast-bot'
const app = { id: 4242, slug: 'holdfast' }
const token = 'ghp_of_the_simulation'

/** Only what proves who the App is: no story depends on it. Short, so that it is soon used. */
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
  /** GitHub's. */
  readonly id: number
  /** The present one. */
  name: string
}

export interface WorldPull {
  readonly repo: WorldRepository
  readonly number: number
  /** All it had, the present one last. */
  readonly heads: string[]
  baseSha: string
  /** Those it had before, to which it may come back. */
  readonly formerBases: string[]
  isOpen: boolean
}

export interface ForgottenTime {
  readonly from: number
  readonly until: number
  /** Deliveries that the copy had: each of them may have changed since. */
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
  readonly decisions = new Decisions()
  readonly nodes: readonly SimulatedNode[]
  readonly types: Settings['runs']
  readonly isApp: boolean
  /** GitHub's clock, seen from ours. */
  readonly aheadMs: number
  /** By the id each carries. */
  readonly sent = new Map<string, SentByNode>()
  /** The time that the database has forgotten, by true time; null when it has forgotten none. */
  forgotten: ForgottenTime | null = null
  /** When the clock that the store goes by was set, by true time, and by how much. */
  readonly clockJumps: { readonly at: number; readonly ms: number }[] = []
  readonly faultCounts = new Map<string, number>()
  /** Called at every step of a node, until one of them has hit it. */
  readonly onStep = new Set<StepListener>()
  /** Called after every commit. */
  onCommit: () => void = () => undefined
  /** Called when the database was restored. */
  onRestored: () => Promise<void> = () => Promise.resolve()
  isQuiet = false
  readonly #balancer: typeof globalThis.fetch
  readonly #latencyMs: number

  constructor({ seed, memory, time, mutation }: WorldOptions) {
    this.seed = seed
    this.time = time
    this.memory = memory
    this.random = new SeededRandom(seed)
    this.story = new Story(time)
    const { random } = this
    this.excuses = new Excuses(time)
    this.isApp = random.chance(50)
    this.types = chooseTypes(random)
    const aheadMs = random.pick([0, 0, 0, 0, 2000, 90_000, -20_000])
    this.aheadMs = aheadMs
    if (aheadMs !== 0) this.countFault('clock off')
    this.github = createGitHubSimulator({
      // Nobody sets GitHub's clock.
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

  /** Who we are on GitHub. */
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

  /** It happened between the copy and the restore: the database knows nothing of it. */
  isForgotten(at: number): boolean {
    return this.forgotten !== null && at >= this.forgotten.from && at <= this.forgotten.until
  }

  /** A node that takes requests. */
  someNode(random: SeededRandom = this.random): SimulatedNode | null {
    return random.pickFrom(this.nodes.filter(({ running }) => running !== null)) ?? null
  }

  reportStep(node: SimulatedNode, step: Step, about: string): void {
    for (const listen of this.onStep) if (node.state === 'up') listen(node, step, about)
  }

  #makeNodes(count: number, mutation: Mutation): SimulatedNode[] {
    const { time, memory, story, types } = this
    return Array.from({ length: count }, (_, index) => {
      const node: SimulatedNode = new SimulatedNode({
        name: `node ${index + 1}`,
        ...{ time, memory, story, types, mutation },
        random: this.random.fork(),
        isAlone: count === 1,
        latencyMs: this.#latencyMs,
        fetch: this.github.fetch,
        credentials: this.isApp
          ? { appId: String(app.id), privateKey: appPrivateKey() }
          : { token },
        onRequest: (sent) => void this.sent.set(sent.requestId, Object.assign(sent, { node })),
        onStep: (who, step, about) => {
          if (step === 'committed') this.onCommit()
          this.reportStep(who, step, about)
        },
      })
      return node
    })
  }
}

/** Short enough that everything which may run out does so within the quiet hours. */
function chooseTypes(random: SeededRandom): Settings['runs'] {
  const minuteMs = 60_000
  const ends = { timeoutMs: 4 * minuteMs, pendingTimeoutMs: 6 * minuteMs }
  const on = { pull_request: ['opened', 'reopened', 'ready_for_review', 'synchronize', 'edited'] }
  const rerunOn = { check_run: ['rerequested'] }
  const second = { on, ...ends, anchor: { per: 'run' }, status: { context: 'ci/lint' } } as const
  const review = { on, rerunOn, ...ends }
  return withTypeDefaults({ runs: { review, ...(random.chance(30) && { lint: second }) } }).runs
}
