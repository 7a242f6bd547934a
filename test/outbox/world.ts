/**
 * A whole publishing server under a clock that the test moves: the real store in memory, the real
 * runs, channels and publisher, and a simulated GitHub that counts the requests.
 */
import { githubDeclarations } from '../../src/channels/github-channels.ts'
import { allRights, type ChannelName } from '../../src/channels/github-channels.ts'
import { pino } from 'pino'
import type { PublishingRules } from '../../src/domain/outbox/schedule.ts'
import { defaultPublishing } from '../../src/domain/outbox/schedule.ts'
import type { BudgetLimits } from '../../src/domain/outbox/budget.ts'
import type { Announcement, RunPolicy } from '../../src/domain/run.ts'
import { createGitHub } from '../../src/github/create-github.ts'
import { learnRename } from '../../src/learn-rename.ts'
import { noMetrics } from '../../src/metrics.ts'
import { createEmbeddedEngine } from '../../src/open-engine.ts'
import { openNode, type HoldfastNode } from '../../src/node.ts'
import { openIsOurs } from '../../src/github-outbox/open-outbox.ts'
import type { Publisher } from '../../src/outbox/publisher.ts'
import type { Random } from '../../src/random.ts'
import { createRuns, type RunsService } from '../../src/runs/create-runs.ts'
import type { Claimed } from '../../src/runs/runs.ts'
import { hashLeaseToken } from '../../src/secrets.ts'
import { withTypeDefaults } from '../../src/settings/run-types/type-defaults.ts'
import { SeededRandom } from '../../src/simulation/seeded-random.ts'
import { VirtualTime } from '../../src/simulation/virtual-time.ts'
import type { GitHubSimulator } from '../../src/simulator/index.ts'
import { createGitHubSimulator } from '../../src/simulator/index.ts'
import type { Store } from '../../src/store.ts'
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import { appKeyPem } from '../github/github-under-test.ts'
import { seed } from '../seed.ts'

export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute

export const repo = 'acme/widgets'
export const baseSha = 'b'.repeat(40)
export const context = 'holdfast/review'

/** The n-th head. */
export const head = (n: number): string => String(n).padStart(40, 'a')

export interface WorldOptions {
  readonly rules?: Partial<PublishingRules>
  readonly limits?: Partial<BudgetLimits>
  readonly announcement?: Partial<Announcement>
  /** False makes the pull request older than the store. */
  readonly youngThread?: boolean
  /** Publishes as a GitHub App, which alone may write check runs. */
  readonly app?: boolean
  readonly simulator?: Parameters<typeof createGitHubSimulator>[0]
  /** Claims are made beside the server, by a program that cannot ask GitHub. */
  readonly library?: boolean
  /** The store's file; without it the store is in memory. */
  readonly path?: string
  /** Another store on the same GitHub, at the same time. */
  readonly beside?: Surroundings
}

export interface Surroundings {
  readonly time: VirtualTime
  readonly github: GitHubSimulator
  /** When the pull request was opened. */
  readonly createdAt: number
}

export type World = Awaited<ReturnType<typeof openWorld>>

const startsAt = Date.UTC(2026, 5, 1, 12)
const noLimits: BudgetLimits = { spacingMs: 0, perMinute: 0, perHour: 0 }
/** What was logged as a warning or worse since the last world was opened. */
export const warnings: string[] = []
const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })

/**
 * The same random numbers in every run of a test. Two worlds of one test get different ids and
 * keys.
 */
let chance = new SeededRandom(seed)
// A benchmark opens a world without Vitest.
if (process.env['VITEST'] !== undefined) {
  const { beforeEach } = await import('vitest')
  beforeEach(() => {
    chance = new SeededRandom(seed)
  })
}

function newGitHub(time: VirtualTime, options: WorldOptions): GitHubSimulator {
  const asApp = { app: { id: 12, slug: 'holdfast-bot', privateKey: appKeyPem } }
  const github = createGitHubSimulator({
    // A test that sets this machine's clock does not set GitHub's clock.
    clock: { wallMs: () => startsAt + time.monotonicMs(), monotonicMs: () => time.monotonicMs() },
    scheduler: time,
    random: chance.fork(),
    ...(options.app === true && asApp),
    ...options.simulator,
  })
  github.addRepository(repo)
  return github
}

export async function openWorld(options: WorldOptions = {}) {
  warnings.length = 0
  const time = options.beside?.time ?? new VirtualTime(startsAt)
  const machine = { clock: time, scheduler: time, random: chance.fork() }
  const github = options.beside?.github ?? newGitHub(time, options)
  const publishing = { ...defaultPublishing, pollMs: 5 * second, ...options.rules }
  const file = { path: options.path ?? ':memory:', exclusive: false }
  const store = openSqlite(file, { ...machine, publishing, channels: githubDeclarations })
  await withTime(time, store.upkeep.recordMode('live'))
  await time.pass(second)
  const isOld = options.youngThread === false
  const createdAt = options.beside?.createdAt ?? time.wallMs() - (isOld ? hour : 0)
  if (options.beside === undefined) {
    github.addPull(repo, { number: 5, headSha: head(1), baseSha, createdAt })
  }
  const base = { options, machine, store, github }
  const node = nodeOf(base)
  const runs = runsOf(base, node)
  const opened: Publisher[] = []
  const act = <T>(work: Promise<T>): Promise<T> => {
    // Hours pass in these tests, and regular looks would be most of the work. So looks are rare,
    // and the publishers are woken after each action, as soon as a server would look.
    const seen = () => opened.forEach((publisher) => publisher.wake())
    return withTime(time, work).finally(() =>
      time.afterInBackground(defaultPublishing.pollMs, seen),
    )
  }
  return {
    time,
    store: store as Store,
    github,
    createdAt,
    runs,
    /** The connection by which the other parts of a server ask GitHub. */
    connection: connectionOf(base),
    /** Starts one more node that publishes from the same store. */
    startPublisher: (fetch = github.fetch): Publisher => {
      const { publisher } = nodeOf(base, fetch)
      if (publisher === null) throw new Error('this node publishes')
      opened.push(publisher)
      publisher.start()
      return publisher
    },
    /**
     * Runs an action of a worker or an API caller. Time passes only as far as the store needs it.
     */
    act: act,
    ...actsOf(act, store, runs, createdAt),
    /**
     * The check that a server or the command line makes before it accepts an operator's
     * confirmation.
     */
    checkIsOurs: openIsOurs({ store, github: connectionOf(base), clock: time }),
    stopPublishers: () => Promise.all(opened.map((publisher) => publisher.stop())),
    async close() {
      const stopped = Promise.all(opened.map((publisher) => publisher.stop()))
      await withTime(time, stopped)
      await store.close()
    },
  }
}

interface ClaimOver {
  readonly rerun?: boolean
  readonly repo?: string
  readonly pr?: number
  readonly repoId?: number
  readonly eventAt?: number
}

/** The actions of workers and API callers. */
function actsOf(
  act: <T>(work: Promise<T>) => Promise<T>,
  store: Store,
  runs: ReturnType<typeof runsOf>,
  createdAt: number,
) {
  return {
    claim: (n = 1, over: ClaimOver = {}) =>
      act(
        runs.claim(
          {
            kind: 'pull_request',
            type: 'review',
            repo,
            pr: 5,
            baseSha,
            headSha: head(n),
            threadCreatedAt: createdAt,
            ...over,
          },
          'test',
        ),
      ),
    report: (claimed: Claimed, text: string) =>
      act(store.runs.reportStatus({ ...holderOf(claimed), text, actor: 'test' }, null)),
    complete: (claimed: Claimed, summary = 'Done.') =>
      act(runs.complete({ ...holderOf(claimed), outcome: 'succeeded', summary }, 'test')),
    deliveries: async () => (await act(store.outbox.list({}, { limit: 100, cursor: null }))).items,
    delivery: async (name: string) => {
      const listed = store.outbox.list({}, { limit: 100, cursor: null })
      return (await act(listed)).items.find((delivery) => delivery.name === name)
    },
    /** Publishes an output of the run. */
    publish: (
      claimed: Claimed,
      name: string,
      channel: ChannelName,
      content: Readonly<Record<string, unknown>>,
    ) => {
      const request = {
        ...holderOf(claimed),
        actor: 'test',
        name,
        channel,
        content,
        rightsOf: () => allRights,
      }
      return act(store.outbox.publish(request, null))
    },
  }
}

interface Base {
  readonly options: WorldOptions
  readonly machine: { clock: VirtualTime; scheduler: VirtualTime; random: Random }
  readonly store: Store
  readonly github: GitHubSimulator
}

/** A separate node. Only the parts that a test starts are active. */
function nodeOf(base: Base, fetch = base.github.fetch): HoldfastNode {
  const { options, machine, store } = base
  return openNode({
    ...machine,
    ...withTypeDefaults({}),
    ...{ store, log, metrics: noMetrics, types: {}, webhookSecrets: [], isAlone: false },
    ...{ leaseMs: hour, policyOf: () => policyOf(options) },
    limits: { ...noLimits, ...options.limits },
    engine: createEmbeddedEngine(machine.scheduler),
    ask: null,
    publishTo: connectionOf(base, fetch),
    ...{ role: 'server', work: null },
  })
}

function policyOf(options: WorldOptions): RunPolicy {
  return {
    onNewer: 'supersede',
    attempts: 3,
    timeoutMs: 6 * hour,
    pendingTimeoutMs: 6 * hour,
    announcement: {
      anchorPer: 'subject',
      statusContext: context,
      checkName: null,
      locale: 'en',
      ...options.announcement,
    },
  }
}

/** A program that embeds Holdfast cannot ask GitHub what a name means. */
function runsOf(base: Base, node: HoldfastNode): RunsService {
  const { options, machine, store } = base
  if (options.library !== true) return node.runs
  const policy = { leaseMs: hour, policyOf: () => policyOf(options) }
  return createRuns({ ...machine, ...policy, store, log, headSource: null })
}

function connectionOf({ options, machine, store, github }: Base, fetch = github.fetch) {
  return createGitHub({
    ...machine,
    apiUrl: 'http://github.localhost',
    publicUrl: null,
    events: [],
    fetch,
    log,
    version: 'test',
    credentials: options.app === true ? { appId: '12', privateKey: appKeyPem } : { token: 'token' },
    onRenamed: (...rename) => void learnRename(store, ...rename, 'github'),
  })
}

/** Waits for the work, and lets time pass if the work needs it. */
async function withTime<T>(time: VirtualTime, work: Promise<T>): Promise<T> {
  let done = false
  const ended = work.finally(() => (done = true))
  ended.catch(() => undefined)
  await time.passUntil(() => done, hour)
  return await ended
}

export function holderOf({ run, lease }: Claimed): { runId: string; leaseHash: string } {
  if (run === null || lease === null) throw new Error('it was not claimed')
  return { runId: run.id, leaseHash: hashLeaseToken(lease.token) }
}

/** The number of requests by method and route, as GitHub received them. */
export function received(github: GitHubSimulator, method: string, part: string): number {
  return github.requests.filter(
    (request) => request.method === method && request.path.includes(part),
  ).length
}

export const creates = (github: GitHubSimulator): number =>
  received(github, 'POST', '/issues/5/comments')
export const edits = (github: GitHubSimulator): number =>
  received(github, 'PATCH', '/issues/comments/')
export const statusWrites = (github: GitHubSimulator): number =>
  received(github, 'POST', '/statuses/')
export const reads = (github: GitHubSimulator): number =>
  github.requests.filter(({ method, path }) => method === 'GET' && path !== '/user').length
