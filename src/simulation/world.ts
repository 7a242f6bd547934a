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
import { createFrontDoor } from './front-door.ts'
import { SimulatedNode, webhookSecret, type Mutation } from './node.ts'
import type { SentRequest, Step } from './node-ports.ts'
import { SeededRandom } from './seeded-random.ts'
import { Story } from './story.ts'
import type { VirtualTime } from './virtual-time.ts'

export const startOfTime = Date.UTC(2026, 5, 1, 12)
export const owner = 'acme'
export const repositories = [`${owner}/widgets`, `${owner}/gears`] as const
export const botLogin = 'holdfast-bot'
const app = { id: 4242, slug: 'holdfast' }
const token = 'ghp_of_the_simulation'

/** Only what proves who the App is: nothing that a story tells depends on it. */
let appKey: string | null = null
function keyOfApp(): string {
  appKey ??= generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
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

export class World {
  readonly seed: number
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly story: Story
  readonly memory: SharedMemory
  readonly github: GitHubSimulator
  readonly hooks: readonly WebhookSender[]
  readonly nodes: readonly SimulatedNode[]
  readonly types: Settings['runs']
  readonly isApp: boolean
  /** GitHub's clock, seen from ours. */
  readonly aheadMs: number
  /** By the id each carries. */
  readonly sent = new Map<string, SentByNode>()
  readonly injected = new Map<string, number>()
  /** Called at every step of a node; set by whoever brings accidents. */
  onStep: (node: SimulatedNode, step: Step, about: string) => void = () => undefined
  /** Called after every commit. */
  onCommit: () => void = () => undefined
  isQuiet = false

  constructor({ seed, memory, time, mutation }: WorldOptions) {
    this.seed = seed
    this.time = time
    this.memory = memory
    this.random = new SeededRandom(seed)
    this.story = new Story(time)
    const { random } = this
    this.isApp = random.chance(40)
    this.types = typesOf(random)
    const aheadMs = random.pick([0, 0, 0, 0, 2000, 90_000, -20_000])
    this.aheadMs = aheadMs
    if (aheadMs !== 0) this.inject('clock off')
    this.github = createGitHubSimulator({
      clock: time,
      scheduler: time,
      random: random.fork(),
      aheadMs,
      ...(this.isApp
        ? { app: { ...app, privateKey: keyOfApp() } }
        : { tokens: [{ token, login: botLogin }] }),
    })
    for (const repo of repositories) this.github.addRepository(repo)
    const door = createFrontDoor(this)
    const url = 'https://holdfast.test/webhooks/github'
    const where = { url, secret: webhookSecret, fetch: door, events: ['pull_request', 'check_run'] }
    this.hooks = this.isApp
      ? [sendWebhooks(this.github, where)]
      : repositories.map((repo) => sendWebhooks(this.github, { ...where, repo }))
    this.nodes = this.#makeNodes(random.pick([1, 1, 2, 2, 2, 3]), mutation)
  }

  /** Who we are on GitHub. */
  get ourLogin(): string {
    return this.isApp ? `${app.slug}[bot]` : botLogin
  }

  inject(kind: string, times = 1): void {
    this.injected.set(kind, (this.injected.get(kind) ?? 0) + times)
  }

  /** A node that takes requests. */
  someNode(random: SeededRandom = this.random): SimulatedNode | null {
    return random.pickFrom(this.nodes.filter(({ running }) => running !== null)) ?? null
  }

  #makeNodes(count: number, mutation: Mutation): SimulatedNode[] {
    const { time, memory, story, types } = this
    return Array.from({ length: count }, (_, index) => {
      const node: SimulatedNode = new SimulatedNode({
        name: `node ${index + 1}`,
        ...{ time, memory, story, types, mutation },
        random: this.random.fork(),
        alone: count === 1,
        fetch: this.github.fetch,
        credentials: this.isApp ? { appId: String(app.id), privateKey: keyOfApp() } : { token },
        onSent: (sent) => void this.sent.set(sent.requestId, Object.assign(sent, { node })),
        onStep: (who, step, about) => {
          if (step === 'committed') this.onCommit()
          this.onStep(who, step, about)
        },
      })
      return node
    })
  }
}

/** Short enough that everything which may run out does so within the quiet hours. */
function typesOf(random: SeededRandom): Settings['runs'] {
  const minuteMs = 60_000
  const ends = { timeoutMs: 4 * minuteMs, pendingTimeoutMs: 6 * minuteMs }
  const on = { pull_request: ['opened', 'reopened', 'ready_for_review', 'synchronize', 'edited'] }
  const rerunOn = { check_run: ['rerequested'] }
  const second = { on, ...ends, anchor: { per: 'run' }, status: { context: 'ci/lint' } } as const
  const review = { on, rerunOn, ...ends }
  return withTypeDefaults({ runs: { review, ...(random.chance(30) && { lint: second }) } }).runs
}
