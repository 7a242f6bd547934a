/**
 * A simulated GitHub that outlives the servers that write to it, pull requests on it, and the life
 * of each run: claimed, reported on, completed. Every request has its idempotency key, so that a
 * request which a killed server left unanswered is simply sent again.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createGitHubSimulator,
  serveSimulator,
  type Fault,
  type FaultHandle,
  type GitHubSimulator,
  type ReceivedRequest,
  type ServedSimulator,
} from '../../src/simulator/index.ts'
import { sha, type Answer, type Body, type Client } from '../scenarios/client.ts'
import type { MakeServerData, ServerData } from '../scenarios/server-data.ts'
import { publishingBy, Server } from '../scenarios/server.ts'
import { until } from '../scenarios/until.ts'
import type { Publication } from './publish-signal.ts'

export const repo = 'acme/widgets'
export const context = 'holdfast/review'

const settings = {
  GITHUB_TOKEN: 'ghp_chaos0123456789',
  GITHUB_WEBHOOK_SECRET: 'a-webhook-secret-for-chaos',
  HOLDFAST_CONFIRM_DELAY_MS: '300',
  HOLDFAST_COALESCE_MS: '0',
  HOLDFAST_WRITE_SPACING_MS: '0',
  HOLDFAST_WRITES_PER_MINUTE: '0',
  HOLDFAST_WRITES_PER_HOUR: '0',
}

/** Longer than a delivery lease and what follows it, on a busy machine. */
export const leasePatienceMs = 60_000

export interface DeliveryJson {
  readonly id: string
  readonly channel: string
  readonly run_id: string
  readonly status: string
  readonly wait: string | null
  readonly attempts: readonly {
    readonly action: string
    readonly outcome: string | null
    readonly late: boolean
  }[]
}

/** Short enough for a test to wait for, long enough for a request on a busy machine. */
export const shortWaits = publishingBy({
  deliveryLeaseMs: 8000,
  requestTimeoutMs: 5000,
  leaseMarginMs: 1000,
  settleAfterMs: [4000, 8000],
  scanAfterMs: [4000, 8000],
})

export class PublishWorld {
  readonly github: GitHubSimulator
  readonly serverData: ServerData
  readonly #served: ServedSimulator
  readonly #servers: Server[] = []
  readonly #cache = mkdtempSync(join(tmpdir(), 'holdfast-publish-'))

  private constructor(github: GitHubSimulator, served: ServedSimulator, serverData: ServerData) {
    this.github = github
    this.#served = served
    this.serverData = serverData
  }

  static async open(makeData: MakeServerData): Promise<PublishWorld> {
    const github = createGitHubSimulator()
    github.addRepository(repo)
    return new PublishWorld(github, await serveSimulator(github), await makeData())
  }

  async start(env: Readonly<Record<string, string>> = {}): Promise<Server> {
    const server = await Server.start(this.serverData, {
      ...settings,
      GITHUB_API_URL: this.#served.url,
      NODE_COMPILE_CACHE: this.#cache,
      ...env,
    })
    this.#servers.push(server)
    return server
  }

  pull(number: number): PullStory {
    const story = new PullStory(this.github, number)
    // A draft, so that catch-up does not claim it. Only the story claims it.
    this.github.addPull(repo, { number, headSha: story.head, baseSha: story.base, draft: true })
    return story
  }

  /** Applies the fault to the next request that publishes this. */
  hold(fault: Fault, on: Publication, story: PullStory): FaultHandle {
    const [comment] = story.comments
    const end = {
      'comment-create': `POST .*/issues/${story.number}/comments`,
      'comment-edit': `PATCH .*/issues/comments/${comment?.id}`,
      'status-pending': `POST .*/statuses/${story.head}`,
      'status-final': `POST .*/statuses/${story.head}`,
    }[on]
    return this.github.faults.add({ on: { route: new RegExp(`^${end}$`) }, fault })
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.kill()))
    await this.#served.close()
    await this.serverData.remove()
    rmSync(this.#cache, { recursive: true, force: true })
  }
}

/** The requests of a run up to each publication. The last one leads to it. */
const stepsTo: Record<Publication, readonly ('claim' | 'reportStatus' | 'complete')[]> = {
  'comment-create': ['claim'],
  'status-pending': ['claim'],
  'comment-edit': ['claim', 'reportStatus'],
  'status-final': ['claim', 'reportStatus', 'complete'],
}

export class PullStory {
  readonly number: number
  readonly head: string
  readonly base = sha('main')
  readonly #github: GitHubSimulator
  #held: Body | undefined

  constructor(github: GitHubSimulator, number: number) {
    this.#github = github
    this.number = number
    this.head = sha(`head of ${number}`)
  }

  get report(): string {
    return `half of ${this.number} read`
  }

  get summary(): string {
    return `All of ${this.number} is fine.`
  }

  get comments() {
    return this.#github.allComments(repo, this.number)
  }

  get statuses() {
    return this.#github.statuses(repo, this.head, context)
  }

  async claim(client: Client): Promise<void> {
    // A claim after the run ended would be decided again.
    if (this.#held !== undefined) return
    const { number: pr, base: base_sha, head: head_sha } = this
    const body = { repo, pr, base_sha, head_sha, lease_ms: 3_600_000 }
    this.#held = (await this.#post(client, 'claim', '/v1/runs', body)).body
  }

  async reportStatus(client: Client): Promise<void> {
    const { run, lease } = this.#claimed
    const body = { lease_token: lease.token, status: this.report }
    await this.#post(client, 'report', `/v1/runs/${run.id}/status`, body)
  }

  async complete(client: Client): Promise<void> {
    const { run, lease } = this.#claimed
    const body = { lease_token: lease.token, outcome: 'succeeded', summary: this.summary }
    await this.#post(client, 'complete', `/v1/runs/${run.id}/complete`, body)
  }

  /** Makes all requests before the one that leads to this publication. */
  async makeStepsBefore(on: Publication, client: Client): Promise<void> {
    for (const step of stepsTo[on].slice(0, -1)) {
      await this[step](client)
      await this.shown(client)
    }
  }

  /** Makes the request that leads to it. The server may be stopped by it and never answer. */
  async makeLastStep(on: Publication, client: Client): Promise<void> {
    await this[stepsTo[on].at(-1)!](client).catch(() => undefined)
  }

  /** Makes all requests; those that were already answered change nothing. */
  async finish(client: Client): Promise<void> {
    for (const step of ['claim', 'reportStatus', 'complete'] as const) {
      await this[step](client)
      await this.shown(client)
    }
  }

  /** Resolves when no delivery of this run is open. */
  async shown(client: Client): Promise<void> {
    const open = `/v1/deliveries?status=PENDING&run=${this.#claimed.run.id}`
    await until(
      () => client.get(open),
      ({ status, body }) => status === 200 && body.items.length === 0,
      leasePatienceMs,
    )
  }

  async deliveries(client: Client): Promise<readonly DeliveryJson[]> {
    const { body } = await client.get(`/v1/deliveries?run=${this.#claimed.run.id}`)
    return await Promise.all(
      body.items.map(async ({ id }) => {
        const one = await client.get(`/v1/deliveries/${id}`)
        return one.body as unknown as DeliveryJson
      }),
    )
  }

  /**
   * The audit rows of the run and the texts on GitHub, one line each, for the reader of a failure.
   */
  async history(client: Client): Promise<string[]> {
    const { body } = await client.get(`/v1/runs/${this.#claimed.run.id}/audit?limit=1000`)
    const rows = body.items.map((row) => `  ${JSON.stringify(row)}`)
    const writes = this.comments.flatMap(({ versions }) =>
      versions.map((version) => `  on GitHub: ${JSON.stringify(version)}`),
    )
    return [...rows, ...writes]
  }

  /** How many requests GitHub received to create or change outputs of this run, done or not. */
  get received(): { creates: number; edits: number; statuses: number } {
    const ids = this.comments.map(({ id }) => id)
    const count = (fits: (received: ReceivedRequest) => boolean) => this.#github.count(fits)
    // The same request may name the repository by name or by id.
    const isOf = (path: string, suffix: string) => path.endsWith(`/${suffix}`)
    return {
      creates: count(
        ({ method, path }) => method === 'POST' && isOf(path, `issues/${this.number}/comments`),
      ),
      edits: count(
        ({ method, path }) =>
          method === 'PATCH' && ids.some((id) => isOf(path, `issues/comments/${id}`)),
      ),
      statuses: count(
        ({ method, path }) => method === 'POST' && isOf(path, `statuses/${this.head}`),
      ),
    }
  }

  get #claimed(): Body {
    if (this.#held === undefined) throw new Error(`${this.number} has not been claimed`)
    return this.#held
  }

  async #post(client: Client, what: string, path: string, body: object): Promise<Answer> {
    const answer = await client.post(path, body, { 'idempotency-key': `${this.number}-${what}` })
    if (answer.status < 300) return answer
    throw new Error(`${what} of ${this.number} answered ${answer.status}: ${answer.text}`)
  }
}
