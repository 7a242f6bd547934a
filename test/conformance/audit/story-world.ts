/**
 * A pull request whose webhooks go through the real intake, over a store whose clock the test
 * moves. Each webhook is received, decided and finished before the next step.
 */
import { pino } from 'pino'
import { explain, type Why } from '../../../src/audit/why.ts'
import type { Config } from '../../../src/config.ts'
import type { InboxEntry } from '../../../src/domain/inbox.ts'
import type { Outcome } from '../../../src/domain/run.ts'
import type { GitHub } from '../../../src/github.ts'
import type { IntakeAnswer } from '../../../src/intake/intake.ts'
import {
  openIntake,
  type OpenedIntake,
  type OpenIntakeOptions,
} from '../../../src/intake/open-intake.ts'
import { noMetrics } from '../../../src/metrics.ts'
import { createRuns } from '../../../src/runs/create-runs.ts'
import { systemScheduler } from '../../../src/scheduler.ts'
import { withTypeDefaults } from '../../../src/settings/run-types/type-defaults.ts'
import type { Store } from '../../../src/store.ts'
import { completion, grant, leaseMs, leaseRequest, policy, sha, unique } from '../claims.ts'
import { second, type World } from '../world.ts'
import { seededChance } from '../../seed.ts'

type Types = NonNullable<Config['runs']>

export interface Sent {
  readonly event?: string
  readonly action?: string
  readonly head?: string
  readonly sender?: string | null
  readonly draft?: boolean
  readonly guid?: string
  /** Set for a missed webhook that GitHub returned later: the status it was answered with then. */
  readonly answered?: number
  readonly payload?: Readonly<Record<string, unknown>>
}

export class StoryWorld {
  readonly world: World
  readonly number = 5
  readonly repo = unique('acme/story')
  readonly #types: Types | undefined
  readonly #github: OpenIntakeOptions['github']
  #head = 'first'
  /** Resolved when a webhook was finished or postponed. */
  #looked = Promise.withResolvers<void>()

  constructor(world: World, types?: Types, github: Partial<GitHub> | null = null) {
    this.world = world
    this.#types = types
    const ownIdentity = 'github:user'
    const identityOf = async (): Promise<string> => ownIdentity
    const repositoryNamed = () => Promise.reject(new Error('not asked here'))
    const asWhom = { ownIdentity, identityOf, repositoryNamed }
    this.#github = github && { ...(github as GitHub), ...asWhom }
  }

  get store(): Store {
    return this.world.store
  }

  get thread(): string {
    return `${this.repo}#${this.number}`
  }

  /**
   * Receives a webhook, and finishes or postpones it. A second passes first, because GitHub's times
   * have whole seconds.
   */
  async send(sent: Sent = {}): Promise<IntakeAnswer> {
    this.world.clock.move(second)
    const { event = 'pull_request', guid = crypto.randomUUID(), answered } = sent
    const body = Buffer.from(JSON.stringify(this.#payload(sent)))
    const opened = this.#opened()
    opened.start()
    const missed = answered === undefined ? {} : { caughtUp: true, answered }
    const webhook = { webhookId: guid, event, headers: {}, body, ...missed }
    const answer = await opened.intake.receive(webhook)
    await opened.stop()
    return answer
  }

  /** Decides what is due, or postpones it again. */
  async process(): Promise<void> {
    const opened = this.#opened()
    this.#looked = Promise.withResolvers()
    opened.start()
    await this.#looked.promise
    await opened.stop()
  }

  async replay(id: string): Promise<void> {
    await this.store.inbox.replay(id, 'admin', null)
    await this.process()
  }

  #payload({ action = 'opened', head, sender = 'mona', draft = false, payload }: Sent): object {
    const before = sha(this.#head)
    this.#head = head ?? this.#head
    return {
      action,
      ...(action === 'synchronize' && { before }),
      repository: { full_name: this.repo },
      sender: sender === null ? null : { login: sender, id: 7, type: 'User' },
      pull_request: {
        number: this.number,
        state: action === 'closed' ? 'closed' : 'open',
        draft,
        updated_at: new Date(this.store.now()).toISOString(),
        head: { sha: sha(this.#head) },
        base: { sha: sha('main') },
      },
      ...payload,
    }
  }

  #opened(): OpenedIntake {
    const { store, world } = this
    const looked = (): void => this.#looked.resolve()
    const log = pino({ level: 'warn' }, { write: looked })
    const machine = { clock: world.clock, random: seededChance(), scheduler: systemScheduler }
    const runs = createRuns({
      ...machine,
      store,
      log,
      leaseMs,
      policyOf: () => policy,
      headSource: null,
    })
    return openIntake({
      ...machine,
      secrets: [],
      types: withTypeDefaults(this.#types === undefined ? {} : { runs: this.#types }).runs,
      store,
      runs,
      github: this.#github,
      log,
      metrics: { ...noMetrics, inboxProcessed: looked },
    })
  }

  /** A worker leases the waiting run of this pull request. */
  async lease(worker = 'w1', type = 'review') {
    const [run] = await this.runs(type)
    const over = { grant: grant({ holder: 'worker', worker }), runId: run?.id ?? '' }
    const leased = await this.store.runs.lease(leaseRequest(over), null)
    if (leased === null) throw new Error('there was nothing to lease')
    return leased
  }

  async complete(held: Awaited<ReturnType<StoryWorld['lease']>>, outcome: Outcome = 'succeeded') {
    return await this.store.runs.complete(completion(held, outcome), null)
  }

  async sweep(): Promise<void> {
    for (const id of await this.store.runs.due(1000)) await this.store.runs.sweep(id)
  }

  /** Newest first. */
  async runs(type = 'review') {
    const filter = { repo: this.repo, pr: this.number, type }
    return (await this.store.runs.list(filter, { limit: 100, cursor: null })).items
  }

  async webhooks(): Promise<readonly InboxEntry[]> {
    const page = { limit: 100, cursor: null }
    return (await this.store.inbox.list({ repo: this.repo, number: this.number }, page)).items
  }

  /**
   * Webhooks arrive only at a server, so `why` sees one. The store has no sign of life of it: that
   * would count as an interruption when the clock moves, and holders would get more time.
   */
  why(query = this.thread): Promise<Why> {
    const { runs, steps, audit, inbox, repositories, tokens, outbox } = this.store
    const now = (): number => this.store.now()
    const upkeep = { servedAt: () => Promise.resolve(now()) }
    const others = { inbox, repositories, tokens, outbox, upkeep, now }
    return explain({ runs, steps, audit, ...others }, query)
  }

  /** Only the sentences of the story. */
  async story(query = this.thread): Promise<readonly string[]> {
    return (await this.why(query)).story.map(({ text }) => text)
  }
}
