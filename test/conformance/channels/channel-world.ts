/**
 * The real channels over the real client, against a simulated GitHub, as an App or as a user. Time
 * does not pass unless a test moves it, and the simulator counts what it received.
 */
import { type ChannelName } from '../../../src/channels/github-channels.ts'
import type { Channel, Prepared, LookResult, Target, Written } from '../../../src/channel.ts'
import type { Authors } from '../../../src/channels/parts.ts'
import { createGitHubChannels } from '../../../src/channels/github-channels.ts'
import type { MarkerKey, MarkerKeys } from '../../../src/channels/marker.ts'
import {
  createGitHubSimulator,
  serveSimulator,
  type GitHubSimulator,
} from '../../../src/simulator/index.ts'
import { appKeyPem, clientOf, ManualClock } from '../../github/github-under-test.ts'
import { watchAnswers } from '../../simulator/openapi.ts'

export const repo = 'acme/widgets'
export const thread = 5
export const sha = 'a'.repeat(40)
export const baseSha = 'b'.repeat(40)

export type Identity = 'app' | 'user'
export type Way = 'in the process' | 'over HTTP'

const ownToken = 'ghp_ours0123456789'
const strangersToken = 'ghp_strangers0123456789'
/** A deadline later than any time that a test reaches. */
export const inTime = 1_000_000_000

export const firstKey: MarkerKey = { id: 'k1', secret: 'the first secret' }
export const secondKey: MarkerKey = { id: 'k2', secret: 'the second secret' }

export class ChannelWorld {
  readonly github: GitHubSimulator
  readonly clock: ManualClock
  readonly renamed: [number, string][] = []
  readonly #channels: ReadonlyMap<string, Channel>
  readonly #strangers: ReadonlyMap<string, Channel>
  keys: MarkerKeys = { current: firstKey, all: [firstKey] }
  authors: Authors = { userIds: new Set(), appIds: new Set() }
  readonly close: () => Promise<void>

  private constructor(
    github: GitHubSimulator,
    clock: ManualClock,
    identity: Identity,
    served: { url: string; close: () => Promise<void> } | null,
  ) {
    this.github = github
    this.clock = clock
    const url = served?.url ?? 'https://api.github.test'
    const watch = watchAnswers(served === null ? github.fetch : fetch)
    this.close = async () => {
      await served?.close()
      // Every request and every answer has the form that GitHub describes, in every test.
      if (watch.problems.length > 0) throw new Error(watch.problems.join('\n'))
    }
    const shared = { clock, fetch: watch.fetch }
    const credentials =
      identity === 'app' ? { appId: '12', privateKey: appKeyPem } : { token: ownToken }
    const onRenamed = (id: number, name: string) => void this.renamed.push([id, name])
    const ours = clientOf(url, { ...shared, credentials, onRenamed }).github
    const theirs = clientOf(url, { ...shared, credentials: { token: strangersToken } }).github
    const rest = {
      markerKeys: async () => this.keys,
      authors: async () => this.authors,
    }
    this.#channels = createGitHubChannels({ ...rest, github: ours })
    this.#strangers = createGitHubChannels({ ...rest, github: theirs })
    this.#learn = async () => {
      const own = await ours.ownAccount()
      const setOf = (id: number | null | undefined) => new Set(id == null ? [] : [id])
      this.authors = { userIds: setOf(own?.id), appIds: setOf(own?.appId) }
    }
  }

  readonly #learn: () => Promise<void>

  static async open(
    identity: Identity,
    { way = 'in the process', aheadMs = 0 }: { way?: Way; aheadMs?: number } = {},
  ): Promise<ChannelWorld> {
    const clock = new ManualClock()
    const github = createGitHubSimulator({
      clock,
      aheadMs,
      app: { id: 12, slug: 'holdfast-bot', privateKey: appKeyPem },
      tokens: [
        { token: ownToken, login: 'acme-bot' },
        { token: strangersToken, login: 'mallory' },
      ],
    })
    github.addRepository(repo)
    github.setRole(repo, 'acme-bot', 'write')
    github.setRole(repo, 'mallory', 'write')
    github.addPull(repo, { number: thread, headSha: sha, baseSha, author: 'octocat' })
    const served = way === 'over HTTP' ? await serveSimulator(github) : null
    const world = new ChannelWorld(github, clock, identity, served)
    await world.#learn()
    return world
  }

  channel(name: ChannelName): Channel {
    return this.#channels.get(name)!
  }

  target(given: Partial<Target> = {}): Target {
    return {
      deliveryId: 'dlv_1',
      repo,
      repoGithubId: this.github.repository(repo).id,
      ownRepositoryIds: ['rep_1'],
      thread,
      sha,
      address: null,
      name: 'anchor',
      markerKey: 'a1b2c3:anchor',
      laterKeys: [],
      providerId: null,
      ...given,
    }
  }

  async prepare(name: ChannelName, content: unknown, target = this.target()): Promise<Prepared> {
    return await this.channel(name).prepare(target, content)
  }

  async write(
    name: ChannelName,
    content: unknown,
    given: Partial<Target> = {},
    sendBy = inTime,
  ): Promise<Written> {
    const target = this.target(given)
    const prepared = await this.prepare(name, content, target)
    return await this.channel(name).write(target, prepared, sendBy)
  }

  /** Writes with the same channel and the same keys, but as another account. */
  async writeAsStranger(name: ChannelName, content: unknown): Promise<Written> {
    const target = this.target()
    const channel = this.#strangers.get(name)!
    return await channel.write(target, await channel.prepare(target, content), inTime)
  }

  async look(
    name: ChannelName,
    content: unknown,
    given: Partial<Target> = {},
    since: number | null = null,
    sendBy = inTime,
  ): Promise<LookResult> {
    const target = this.target(given)
    const prepared = await this.prepare(name, content, target)
    return await this.channel(name).look!({ target, prepared, since }, sendBy)
  }
}
