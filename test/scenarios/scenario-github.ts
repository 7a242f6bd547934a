/**
 * The simulated GitHub for scenarios, over real HTTP, with a hook that sends webhooks to the
 * server. It stays while servers come and go, and can be unreachable itself. Tests read its state
 * to see what it received and shows.
 */
import {
  createGitHubSimulator,
  sendWebhooks,
  serveSimulator,
  type GitHubSimulator,
  type GitHubSimulatorOptions,
  type ServedSimulator,
  type SimulatedComment,
  type WebhookSender,
} from '../../src/simulator/index.ts'
import { webhookSecret } from '../intake/webhook.ts'
import { sha, type Body, type RunJson } from './client.ts'
import type { ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

export const repo = 'acme/widgets'
export const context = 'holdfast/review'
export const token = 'ghp_TheTokenOfThisScenario012345678901'

/** No waits, unless a test asks for them. */
const quick = {
  HOLDFAST_COALESCE_MS: '0',
  HOLDFAST_WRITE_SPACING_MS: '0',
  HOLDFAST_WRITES_PER_MINUTE: '0',
  HOLDFAST_WRITES_PER_HOUR: '0',
  HOLDFAST_CONFIRM_DELAY_MS: '200',
}

export type AnchoredRun = RunJson & {
  readonly pr: number
  readonly head_sha: string
  readonly status_context: string | null
  readonly anchor: { readonly comment_id: number; readonly url: string | null } | null
}

export interface DeliveryJson {
  readonly id: string
  readonly channel: string
  readonly kind: string
  readonly name: string
  readonly target: string
  readonly run_id: string
  readonly status: string
  readonly wait: string | null
  readonly reason: string | null
  readonly tries: number
  readonly error: { readonly code: string; readonly text: string | null } | null
  readonly provider_message_id: string | null
  readonly url: string | null
  readonly already: boolean
  readonly content: Readonly<Record<string, unknown>>
  readonly attempts: readonly AttemptJson[]
}

export interface AttemptJson {
  readonly id: string
  readonly action: string
  readonly outcome: string | null
  readonly late: boolean
}

export class ScenarioGitHub {
  readonly github: GitHubSimulator
  readonly serverData: ServerData
  readonly #env: Readonly<Record<string, string>>
  #served: ServedSimulator | null
  #hook: WebhookSender | null = null
  #server: Server | null = null
  #port: number

  private constructor(
    github: GitHubSimulator,
    served: ServedSimulator,
    serverData: ServerData,
    env: Readonly<Record<string, string>>,
  ) {
    this.github = github
    this.serverData = serverData
    this.#served = served
    this.#env = env
    this.#port = Number(new URL(served.url).port)
  }

  static async open(
    serverData: ServerData,
    options: GitHubSimulatorOptions = { tokens: [{ token, login: 'the-bot' }] },
    env: Readonly<Record<string, string>> = { GITHUB_TOKEN: token },
  ): Promise<ScenarioGitHub> {
    const github = createGitHubSimulator(options)
    github.addRepository(repo)
    return new ScenarioGitHub(github, await serveSimulator(github), serverData, env)
  }

  get server(): Server {
    if (this.#server === null) throw new Error('no server was started')
    return this.#server
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Starts the next server. The hook sends its webhooks to this one. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<Server> {
    this.#server = await Server.start(this.serverData, {
      ...quick,
      GITHUB_WEBHOOK_SECRET: webhookSecret,
      GITHUB_API_URL: this.url,
      ...this.#env,
      ...env,
    })
    const url = `${this.#server.url}/webhooks/github`
    if (this.#hook === null) this.#hook = this.#listen(url)
    else this.#hook.moveTo(url)
    return this.#server
  }

  #listen(url: string): WebhookSender {
    const ofApp = 'GITHUB_APP_ID' in this.#env
    return sendWebhooks(this.github, { url, secret: webhookSecret, ...(!ofApp && { repo }) })
  }

  /** Makes GitHub unreachable: nothing listens on its port. */
  async goAway(): Promise<void> {
    await this.#served?.close()
    this.#served = null
  }

  async comeBack(): Promise<void> {
    this.#served = await serveSimulator(this.github, { port: this.#port })
  }

  pull(number: number, head = `head of ${number}`): void {
    this.github.addPull(repo, { number, headSha: sha(head), baseSha: sha('main') })
  }

  /** Claims a pull request as a caller of the API does. */
  async claim(number: number, head = `head of ${number}`, over: object = {}): Promise<Body> {
    const names = { repo, pr: number, base_sha: sha('main'), head_sha: sha(head) }
    const answer = await this.server.admin.claim({ ...names, ...over })
    return answer.body
  }

  async runs(number: number): Promise<readonly AnchoredRun[]> {
    const { body } = await this.server.admin.get(`/v1/runs?repo=${repo}&pr=${number}`)
    return (body.items as unknown as AnchoredRun[]).toReversed()
  }

  async run(id: string): Promise<AnchoredRun> {
    return (await this.server.admin.run(id)) as AnchoredRun
  }

  /** The newest run, once a webhook has started it. */
  async claimedRun(number: number, head = `head of ${number}`): Promise<AnchoredRun> {
    const runs = await until(
      () => this.runs(number),
      (all) => all.some(({ head_sha: at }) => at === sha(head)),
    )
    return runs.find(({ head_sha: at }) => at === sha(head)) as AnchoredRun
  }

  /** Newest first. */
  async deliveries(query = ''): Promise<readonly DeliveryJson[]> {
    const { body } = await this.server.admin.get(`/v1/deliveries?limit=1000&${query}`)
    return body.items as unknown as DeliveryJson[]
  }

  async delivery(id: string): Promise<DeliveryJson> {
    return (await this.server.admin.get(`/v1/deliveries/${id}`)).body as unknown as DeliveryJson
  }

  async deliveryNamed(runId: string, name: string): Promise<DeliveryJson> {
    const found = await until(
      () => this.deliveries(`run=${runId}`),
      (all) => all.some((each) => each.name === name),
    )
    return await this.delivery(found.find((each) => each.name === name)?.id ?? '')
  }

  /** Resolves when every delivery is closed. */
  async published(query = ''): Promise<readonly DeliveryJson[]> {
    return await until(
      () => this.deliveries(query),
      (all) => all.length > 0 && all.every(({ status }) => status !== 'PENDING'),
    )
  }

  /** The only comment, once it contains this text. */
  async anchorSays(number: number, text: string): Promise<SimulatedComment> {
    const comments = await until(
      async () => this.github.comments(repo, number),
      (live) => live.some(({ body }) => body.includes(text)),
    )
    const [only, ...more] = comments
    if (only === undefined || more.length > 0) {
      throw new Error(`there are ${comments.length} comments: ${JSON.stringify(comments)}`)
    }
    return only
  }

  /** All states of a commit's status, once the last one is this. */
  async statusBecomes(head: string, state: string, named = context): Promise<readonly string[]> {
    return await until(
      async () => this.github.statuses(repo, sha(head), named).map((status) => status.state),
      (states) => states.at(-1) === state,
    )
  }

  async close(): Promise<void> {
    this.#hook?.close()
    await this.#server?.kill()
    await this.goAway()
    await this.serverData.remove()
  }
}
