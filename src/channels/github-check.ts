/**
 * Check runs, which only an App can write. Known again by `external_id`, which holds the delivery's
 * key.
 *
 * What must hold: of several with our key the newest is kept, because GitHub shows the newest of a
 * name. None can be removed: an older one is closed, so that nothing stays in progress.
 */
import { z } from 'zod'
import type {
  Channel,
  CheckContent,
  LookRequest,
  Ownership,
  OwnershipClaim,
  Prepared,
  SendBy,
  LookResult,
  FoundOutput,
  Target,
  Written,
} from '../channel.ts'
import { cutBody } from './cut-body.ts'
import { eachPage } from './each-page.ts'
import type { ImageHosts } from './inert-prose.ts'
import type { ChannelParts } from './parts.ts'
import { publishedUrl } from './published-url.ts'
import {
  bodyMax,
  commitIsThere,
  contentOf,
  isoOf,
  plainLine,
  prepared,
  shaOf,
  unlessGone,
  writtenForm,
} from './parts.ts'
import { safeText } from './safe-text.ts'
import { checkContent } from './stored-contents.ts'

const titleMax = 255
const ofRepo = '/repos/{owner}/{repo}/check-runs'
const byId = '/repos/{owner}/{repo}/check-runs/{check_run_id}'
const ofCommit = 'GET /repos/{owner}/{repo}/commits/{ref}/check-runs'

const checkForm = z.object({
  id: z.number(),
  external_id: z.string().nullish(),
  html_url: z.string().nullish(),
  details_url: z.string().nullish(),
  head_sha: z.string().nullish(),
  status: z.string(),
  conclusion: z.string().nullish(),
  output: z.object({ title: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  app: z.object({ id: z.number() }).nullish(),
})
type Check = z.infer<typeof checkForm>
const checksForm = z.object({ check_runs: z.array(checkForm) })

/** In GitHub's words; what is not named stays as it is there. */
interface CheckBody extends Record<string, unknown> {
  readonly name: string
  readonly status: string
  readonly conclusion?: string
  readonly details_url?: string
  readonly output?: { readonly title: string; readonly summary: string }
}

export class CheckChannel implements Channel {
  readonly name = 'github-check'
  readonly kind = 'state'
  readonly looksBeforeResend = 2
  readonly #parts: ChannelParts

  constructor(parts: ChannelParts) {
    this.#parts = parts
  }

  async prepare(target: Target, given: unknown): Promise<Prepared> {
    shaOf(target)
    return prepared(bodyOf(contentOf(checkContent, given), this.#parts.imageHosts))
  }

  async write(target: Target, { body }: Prepared, sendBy: SendBy): Promise<Written> {
    const [route, place] =
      target.providerId === null
        ? [`POST ${ofRepo}`, { head_sha: shaOf(target) }]
        : [`PATCH ${byId}`, { check_run_id: target.providerId }]
    const given = { ...body, ...place, external_id: target.markerKey }
    return (await this.#parts.github.call(target, writtenForm, route, given, sendBy)).data
  }

  async look(
    { target, prepared: wanted, since }: LookRequest,
    sendBy: SendBy,
  ): Promise<LookResult> {
    const body = wanted.body as CheckBody
    const isKnown = target.providerId !== null && since === null
    if (isKnown && target.laterKeys.length > 0) {
      const [newest] = await this.#list(target, body, sendBy)
      const standing = newest === undefined ? [] : [standingOf(newest, body, target)]
      return { found: standing, unverified: false }
    }
    const checks = isKnown
      ? await this.#get(target, sendBy)
      : await this.#list(target, body, sendBy)
    return { found: checks.map((check) => standingOf(check, body, target)), unverified: false }
  }

  async ownershipOf(claim: OwnershipClaim, sendBy: SendBy): Promise<Ownership> {
    const { target, providerId } = claim
    const [check] = await this.#get({ ...target, providerId }, sendBy)
    if (check === undefined) return 'absent'
    const { appIds } = await this.#parts.authors()
    if (check.app == null || !appIds.has(check.app.id)) return 'foreign'
    if (check.head_sha !== shaOf(target)) return 'elsewhere'
    const key = check.external_id ?? ''
    if (key === '') return 'unmarked'
    return key === target.markerKey ? 'ours' : 'another'
  }

  placeIsThere(target: Target, sendBy: SendBy): Promise<boolean> {
    return commitIsThere(this.#parts.github, target, sendBy)
  }

  async remove(target: Target, providerId: string, sendBy: SendBy): Promise<void> {
    const given = { check_run_id: providerId, status: 'completed', conclusion: 'cancelled' }
    await unlessGone(this.#parts.github.call(target, writtenForm, `PATCH ${byId}`, given, sendBy))
  }

  async #get(target: Target, sendBy: SendBy): Promise<Check[]> {
    const place = { check_run_id: target.providerId }
    const asked = this.#parts.github.call(target, checkForm, `GET ${byId}`, place, sendBy)
    const found = await unlessGone(asked)
    return found === null ? [] : [found.data]
  }

  /**
   * The newest first. One that is completed cannot show work under way again, so it is not what
   * that is looked for.
   */
  async #list(target: Target, { name, status }: CheckBody, sendBy: SendBy): Promise<Check[]> {
    const { github, authors } = this.#parts
    const { appIds } = await authors()
    const asked = { ref: shaOf(target), check_name: name, filter: 'all' }
    const ours: Check[] = []
    const keys = [target.markerKey, ...target.laterKeys]
    const pages = eachPage(github, target, checksForm, ofCommit, asked, sendBy)
    for await (const { check_runs } of pages) {
      ours.push(
        ...check_runs.filter(
          (check) =>
            check.app != null &&
            appIds.has(check.app.id) &&
            keys.includes(check.external_id ?? '') &&
            (check.status !== 'completed' || status === 'completed'),
        ),
      )
    }
    return ours.sort((a, b) => b.id - a.id)
  }
}

function bodyOf(content: CheckContent, imageHosts: ImageHosts | undefined): CheckBody {
  const { name, status, conclusion, startedAt, completedAt } = content
  const detailsUrl = publishedUrl(content.detailsUrl)
  const title = plainLine(content.title, titleMax)
  const summary = cutBody(safeText(content.summary, imageHosts), bodyMax)
  const isShown = title !== '' || summary !== ''
  return {
    name,
    status,
    ...(conclusion !== null && { conclusion }),
    ...(detailsUrl !== null && { details_url: detailsUrl }),
    ...(startedAt !== null && { started_at: isoOf(startedAt) }),
    ...(completedAt !== null && { completed_at: isoOf(completedAt) }),
    // GitHub takes neither of the two without the other.
    ...(isShown && { output: { title: title === '' ? name : title, summary } }),
  }
}

function standingOf(check: Check, body: CheckBody, { markerKey }: Target): FoundOutput {
  const { id, html_url, status, conclusion, details_url, output } = check
  const current =
    check.external_id === markerKey &&
    status === body.status &&
    (conclusion ?? null) === (body.conclusion ?? null) &&
    // Without one of ours GitHub shows the App's own page.
    (body.details_url === undefined || details_url === body.details_url) &&
    (output?.title ?? '') === (body.output?.title ?? '') &&
    (output?.summary ?? '') === (body.output?.summary ?? '')
  return { providerId: String(id), url: html_url ?? null, current, atWork: status !== 'completed' }
}
