/**
 * Credentials of a GitHub App: a signed token (JWT) as the App itself, and installation tokens,
 * which are made on demand, kept, and renewed before they run out.
 *
 * What must hold: a token is kept only as long as GitHub says, and a narrowed one is not kept here
 * at all. A missing installation is reported differently from a missing resource.
 */
import { z } from 'zod'
import type { Ask } from '../ask.ts'
import { createAsk } from '../ask.ts'
import type { Clock } from '../../clock.ts'
import { accessLevels, type GitHubPermissions } from '../../domain/github-permissions.ts'
import type { NarrowedToken } from '../../github.ts'
import { repositoryForm } from '../repository-place.ts'
import { makeAppJwt, readPrivateKey } from './app-jwt.ts'
import type { Actor, Credentials, Repository } from './credentials.ts'
import { GitHubError, isGitHubError, trouble } from '../errors.ts'
import type { CachedValue } from '../timed-cache.ts'
import { TimedCache } from '../timed-cache.ts'
import type { Transport } from '../transport.ts'

const installationKeptMs = 60 * 60_000
const noInstallationKeptMs = 60_000
/** Two installations are tried, then no credentials. So there are at most three timeouts. */
const publicReadersMax = 2
/** A token this close to its end is no longer used. */
const tokenMarginMs = 5 * 60_000

const installationForm = z.object({ id: z.number(), suspended_at: z.string().nullish() })
const tokenForm = z.object({
  token: z.string().min(1),
  expires_at: z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
})
const mintRoute = 'POST /app/installations/{installation_id}/access_tokens'

/** A token that reaches more than one repository does not have this form. */
const narrowedForm = (repositoryId: number) =>
  tokenForm.extend({
    permissions: z.record(z.string(), z.enum(accessLevels)),
    repository_selection: z.literal('selected'),
    repositories: z.tuple([repositoryForm.extend({ id: z.literal(repositoryId) })]),
  })

export interface AppKey {
  readonly appId: string
  /** PEM. Its lines may be separated by the two characters `\n`. */
  readonly privateKey: string
}

export class AppCredentials implements Credentials {
  readonly #clock: Clock
  readonly #transport: Transport
  readonly #makeJwt: (githubNowMs: number) => string
  readonly #askAsApp: Ask
  readonly #installations: TimedCache<number | null>
  readonly #tokens: TimedCache<string>

  constructor({ appId, privateKey }: AppKey, transport: Transport, clock: Clock) {
    const key = readPrivateKey(privateKey)
    this.#makeJwt = (githubNowMs) => makeAppJwt(appId, key, githubNowMs)
    this.#clock = clock
    this.#transport = transport
    this.#installations = new TimedCache(clock)
    this.#tokens = new TimedCache(clock)
    this.#askAsApp = createAsk(transport.send, {
      authorization: async () => this.#jwt(),
      // The refusal had a date, so we know GitHub's time now. Try again with it.
      onRefused: () => true,
      onNotFound: () => undefined,
      publicReaders: async () => ['app'],
      identity: async () => `github:app:${appId}`,
    })
  }

  async authorization(actor: Actor): Promise<string | null> {
    if (actor === 'app') return this.#jwt()
    if (actor === 'nobody') return null
    if (isInstallation(actor)) return await this.#tokenOf(actor.installationId)
    return await this.#asInstallation(actor, (id) => this.#tokenOf(id))
  }

  async narrowedToken(
    repositoryId: number,
    permissions: GitHubPermissions,
  ): Promise<NarrowedToken> {
    const made = await this.#asInstallation({ repositoryId }, async (id) => {
      const asked = { installation_id: id, repository_ids: [repositoryId], permissions }
      return (await this.#askAsApp('app', narrowedForm(repositoryId), mintRoute, asked)).data
    })
    // Only the search for any installation may find none.
    if (made === null) throw new Error(`repository ${repositoryId} has no installation`)
    const { token, expires_at: expiresAt, permissions: granted } = made
    const [{ id: githubId, full_name: name }] = made.repositories
    return { token, expiresAt, permissions: granted, repository: { githubId, name } }
  }

  onRefused(actor: Actor, authorization: string): boolean {
    if (actor === 'app' || actor === 'nobody') return true
    if (isInstallation(actor)) {
      this.#tokens.forget(String(actor.installationId), authorization)
      return true
    }
    const id = this.#installations.peek(keyOf(actor))
    if (id != null) this.#tokens.forget(String(id), authorization)
    this.onNotFound(actor)
    return true
  }

  onNotFound(actor: Actor): void {
    if (actor === 'app' || actor === 'nobody' || isInstallation(actor)) return
    const id = this.#installations.peek(keyOf(actor))
    if (id !== undefined) this.#installations.forget(keyOf(actor), id)
  }

  async publicReaders(): Promise<readonly Actor[]> {
    const usable = (await this.#usable()).slice(0, publicReadersMax)
    return [...usable.map((installationId) => ({ installationId })), 'nobody']
  }

  async identity(repository: Repository): Promise<string> {
    return `github:installation:${await this.#installationOf(repository)}`
  }

  /** Returns null if there is no installation. */
  async #asInstallation<T>(
    actor: 'account' | Repository,
    makeToken: (installationId: number) => Promise<T>,
  ): Promise<T | null> {
    const id = await this.#installationOf(actor)
    if (id === null) return null
    try {
      return await makeToken(id)
    } catch (error) {
      // The account has suspended the installation.
      if (isGitHubError(error, 'forbidden')) throw notInstalled(error)
      if (!isGitHubError(error, 'not_found')) throw error
      // The App was installed again since, so the id that we kept is outdated.
      this.#installations.forget(keyOf(actor), id)
      const newId = await this.#installationOf(actor)
      if (newId === id) throw notInstalled(error)
      return newId === null ? null : await makeToken(newId)
    }
  }

  #jwt(): string {
    const githubNowMs = this.#clock.wallMs() + (this.#transport.clockAheadMs() ?? 0)
    return `Bearer ${this.#makeJwt(githubNowMs)}`
  }

  #installationOf(actor: 'account' | Repository): Promise<number | null> {
    return this.#installations.get(keyOf(actor), () =>
      actor === 'account' ? this.#findAny() : this.#find(actor),
    )
  }

  async #find(repository: Repository): Promise<CachedValue<number>> {
    try {
      const { data } =
        'repositoryId' in repository
          ? await this.#askAsApp('app', installationForm, 'GET /repositories/{id}/installation', {
              id: repository.repositoryId,
            })
          : await this.#askAsApp(
              'app',
              installationForm,
              'GET /repos/{owner}/{repo}/installation',
              { owner: repository.owner, repo: repository.name },
            )
      return { value: data.id, keepMs: installationKeptMs }
    } catch (error) {
      throw isGitHubError(error, 'not_found') ? notInstalled(error) : error
    }
  }

  /** Any installation may read public data; without one we ask without credentials. */
  async #findAny(): Promise<CachedValue<number | null>> {
    const [usable] = await this.#usable()
    return usable === undefined
      ? { value: null, keepMs: noInstallationKeptMs }
      : { value: usable, keepMs: installationKeptMs }
  }

  async #usable(): Promise<readonly number[]> {
    try {
      const form = z.array(installationForm)
      const asked = { per_page: 100 }
      const { data } = await this.#askAsApp('app', form, 'GET /app/installations', asked)
      return data.filter(({ suspended_at }) => suspended_at == null).map(({ id }) => id)
    } catch (error) {
      if (!isGitHubError(error, 'not_found')) throw error
      return []
    }
  }

  #tokenOf(installationId: number): Promise<string> {
    return this.#tokens.get(String(installationId), async () => {
      const asked = { installation_id: installationId }
      const { data } = await this.#askAsApp('app', tokenForm, mintRoute, asked)
      const githubNowMs = this.#clock.wallMs() + (this.#transport.clockAheadMs() ?? 0)
      const keepMs = data.expires_at - githubNowMs - tokenMarginMs
      return { value: `Bearer ${data.token}`, keepMs }
    })
  }
}

const isInstallation = (actor: Actor): actor is { readonly installationId: number } =>
  typeof actor === 'object' && 'installationId' in actor

function keyOf(actor: 'account' | Repository): string {
  if (actor === 'account') return 'account'
  if ('repositoryId' in actor) return `#${actor.repositoryId}`
  return `${actor.owner}/${actor.name}`.toLowerCase()
}

function notInstalled(error: GitHubError): GitHubError {
  return new GitHubError(trouble('not_installed'), error)
}
