/**
 * A server over real sockets, on either database, against the simulated GitHub over HTTP whose hook
 * loses what a test says. Each event is a second after the one before, because times in payloads
 * have whole seconds.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import {
  createGitHubSimulator,
  sendWebhooks,
  serveSimulator,
  type GitHubSimulator,
  type ServedSimulator,
  type WebhookSender,
} from '../../src/simulator/index.ts'
import { appKeyPem } from '../github/github-under-test.ts'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { until } from '../scenarios/until.ts'
import { openLiveServer, type LiveServer } from './live-server.ts'
import { webhookSecret } from './webhook.ts'

export const databases = ['SQLite', 'PostgreSQL'] as const
export type Database = (typeof databases)[number]

const name = 'acme/widgets'
const page = { limit: 1000, cursor: null }
const sha = (mark: number | string) => String(mark).padStart(40, '0')

export interface LossyOptions {
  readonly database: Database
  readonly config?: Config
  /** Acts as a user with a token, who cannot read GitHub's list of sent webhooks. */
  readonly asUser?: boolean
}

export class LossyWorld {
  readonly name = name
  readonly github: GitHubSimulator
  server!: LiveServer
  hook!: WebhookSender
  readonly #options: LossyOptions
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-lossy-'))
  #served!: ServedSimulator
  #database: TestDatabase | null = null
  #aheadMs = 0

  constructor(options: LossyOptions) {
    this.#options = options
    const clock = {
      wallMs: () => Date.now() + this.#aheadMs,
      monotonicMs: () => performance.now(),
    }
    this.github = createGitHubSimulator({
      clock,
      app: { id: 12, slug: 'holdfast', privateKey: appKeyPem },
      tokens: [{ token: 'ghp_bot', login: 'holdfast-bot' }],
    })
    this.github.addRepository(name)
  }

  async start(): Promise<void> {
    this.#served = await serveSimulator(this.github)
    if (this.#options.database === 'PostgreSQL') this.#database = await freshDatabase()
    await this.open()
    this.hook = sendWebhooks(this.github, { url: this.server.hookUrl, secret: webhookSecret })
  }

  async open(): Promise<void> {
    const { config, asUser } = this.#options
    const account: Record<string, string> =
      asUser === true
        ? { GITHUB_TOKEN: 'ghp_bot' }
        : { GITHUB_APP_ID: '12', GITHUB_PRIVATE_KEY: appKeyPem }
    const database: Record<string, string> =
      this.#database === null
        ? {}
        : {
            HOLDFAST_DATABASE_URL: this.#database.url,
            HOLDFAST_ADMIN_TOKEN: 'an-admin-token-of-good-length',
          }
    this.server = await openLiveServer({
      folder: this.#folder,
      env: { GITHUB_API_URL: this.#served.url, ...account, ...database },
      ...(config !== undefined && { config }),
    })
    await this.server.catchUp()
  }

  async stop(): Promise<void> {
    await this.server.app.close()
    await this.#served.close()
    await this.#database?.drop()
    rmSync(this.#folder, { recursive: true })
  }

  /** Does something on GitHub, a second after the last event. */
  then(happens: () => unknown): void {
    this.#aheadMs += 1000
    happens()
  }

  openPull(number: number, draft = false): void {
    const pull = { number, headSha: sha(number * 100), baseSha: sha('b'), draft }
    this.then(() => this.github.addPull(name, pull))
  }

  push(number: number, head: number): void {
    this.then(() => this.github.push(name, number, sha(head), { by: 'octocat' }))
  }

  comment(number: number, text: string, by = 'octocat'): void {
    this.then(() => this.github.commentAs(by, name, number, text))
  }

  /** The next pull request event with this action is never sent, and is not in GitHub's list. */
  lose(action: string): void {
    this.hook.addFault({ fault: 'drop-unlogged', event: 'pull_request', action })
  }

  /** Waits until all webhooks are decided. Returns the runs, by pull request and head. */
  async runs(): Promise<string[]> {
    const { store } = this.server.app
    await this.hook.idle()
    await until(
      () => store.inbox.backlog(),
      ({ waiting }) => waiting === 0,
    )
    const { items } = await store.runs.list({}, page)
    return items
      .map(({ pr, headSha, state }) => `#${pr} ${Number(headSha)} ${state}`)
      .toSorted((a, b) => a.localeCompare(b))
  }
}
