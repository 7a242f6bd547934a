/**
 * The whole way out in one process: a real store, the real publisher and channels as an App, and a
 * simulated GitHub, with time in the test's hand. A publisher can be made to die at a step; another
 * one comes after it.
 */
import { allRights, type ChannelName } from '../../../src/channels/github-channels.ts'
import { pino } from 'pino'
import { openOutbox } from '../../../src/outbox/open-outbox.ts'
import { noMetrics } from '../../../src/metrics.ts'
import type { OutboxStore } from '../../../src/store/outbox-store.ts'
import type { Announcement } from '../../../src/domain/run.ts'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import { createGitHubSimulator, type GitHubSimulator } from '../../../src/simulator/index.ts'
import type { ClaimAnswer, Store } from '../../../src/store.ts'
import {
  appCredentials,
  appKeyPem,
  clientOf,
  HandScheduler,
} from '../../github/github-under-test.ts'
import { repo, sha, thread } from './channel-world.ts'
import { holderOf, policy, pullRequestClaim } from '../claims.ts'
import { noLimits, OutboxHand } from '../outbox/outbox-hand.ts'
import { openWorld, second, type OpenStore, type World } from '../world.ts'

/** Longer than anybody holds a delivery. */
const leaseOverMs = 21 * second

const turnsMax = 200

/** What a dead one does: it neither goes on nor fails. */
const never = <T>(): Promise<T> => new Promise<T>(() => undefined)

export class PublisherWorld {
  readonly github: GitHubSimulator
  readonly #world: World
  /** What went wrong that nobody expected. */
  readonly errors: string[] = []
  readonly #log = pino({ level: 'error' }, { write: (line: string) => void this.errors.push(line) })

  private constructor(world: World) {
    this.#world = world
    const app = { id: 12, slug: 'holdfast-bot', privateKey: appKeyPem }
    this.github = createGitHubSimulator({ clock: world.clock, app })
    this.github.addRepository(repo)
    this.github.addPull(repo, { number: thread, headSha: sha, baseSha: 'b'.repeat(40) })
  }

  static async open(open: OpenStore): Promise<PublisherWorld> {
    const world = await openWorld(open)
    // As a server does when it starts: from now on the store knows of what it made.
    await world.store.upkeep.recordMode('live')
    const made = new PublisherWorld(world)
    // As an event does: what is due can be written at once.
    await world.store.repositories.learn(repo, made.github.repository(repo).id, 'now', 'test')
    return made
  }

  close(): Promise<void> {
    return this.#world.close()
  }

  get store(): Store {
    return this.#world.store
  }

  async claim(announcement: Announcement): Promise<ClaimAnswer> {
    const names = { repo, pr: thread, head: 'the head' }
    // Younger than the store: nothing has to be looked for before the first write.
    const threadCreatedAt = this.store.now() + second
    const over = { headSha: sha, threadCreatedAt, policy: { ...policy, announcement } }
    return await this.store.runs.claim(pullRequestClaim(names, over), null)
  }

  async publish(held: ClaimAnswer, channel: ChannelName, content: object): Promise<void> {
    const { runId, leaseHash, actor } = holderOf(held)
    const stored = content as Readonly<Record<string, unknown>>
    const wish = {
      runId,
      leaseHash,
      actor,
      name: 'the-one',
      channel,
      content: stored,
      rightsOf: () => allRights,
    }
    await this.store.outbox.publish(wish, null)
  }

  /** The one delivery there is. */
  async delivery(): Promise<Delivery> {
    const { items } = await this.store.outbox.list({}, { limit: 2, cursor: null })
    const [only] = items
    if (only === undefined || items.length > 1) throw new Error(`${items.length} deliveries`)
    return only
  }

  told(deliveryId: string): Promise<readonly string[]> {
    return new OutboxHand({ store: this.store }).told(deliveryId)
  }

  /** A publisher takes what is due and ends when that is done. */
  async turn(store: Store = this.store): Promise<void> {
    const publisher = openOutbox({
      store,
      github: this.#client(),
      limits: noLimits,
      clock: this.#world.clock,
      scheduler: new HandScheduler(),
      metrics: noMetrics,
      log: this.#log,
    })
    publisher.start()
    await publisher.stop()
  }

  /** One that dies when it comes to ask the store for this. */
  async turnUntilDead(at: keyof OutboxStore, after: 'asking' | 'answer'): Promise<void> {
    const died = Promise.withResolvers<void>()
    const outbox = new Proxy(this.store.outbox, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        const verb = value as (...args: unknown[]) => Promise<unknown>
        return async (...args: unknown[]) => {
          if (name !== at) return await verb.apply(target, args)
          if (after === 'answer') await verb.apply(target, args)
          died.resolve()
          return await never()
        }
      },
    })
    const store = new Proxy(this.store, {
      get: (target, name) => {
        if (name === 'outbox') return outbox
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const lived = this.turn(store).then(() => {
      throw new Error(`it never came to ${at}`)
    })
    await Promise.race([died.promise, lived])
  }

  /** Whoever held something holds it no more. */
  leaseOver(): void {
    this.#world.clock.move(leaseOverMs)
  }

  /** Lets time pass with a publisher at work. */
  async pass(ms: number): Promise<void> {
    const { store, clock } = this.#world
    const until = store.now() + ms
    for (let turns = 0; ; turns++) {
      if (turns > turnsMax) throw new Error('it never comes to rest')
      const dueAt = await store.outbox.nextDueAt()
      if (dueAt === null || dueAt > until) break
      clock.move(Math.max(0, dueAt - store.now()))
      await this.turn()
    }
    clock.move(until - store.now())
  }

  #client() {
    const { clock } = this.#world
    const options = { clock, fetch: this.github.fetch, credentials: appCredentials }
    return clientOf('https://api.github.test', options).github
  }
}
