/**
 * Check runs, which only an App can write. Known again by `external_id`, which holds the delivery's
 * key.
 *
 * What must hold: of several with our key the newest is kept, because GitHub shows the newest of a
 * name. None can be removed: an older one is closed, so that nothing stays in progress.
 */
import { z } from 'zod'
import type { AnnouncedOutput } from '../domain/outbox/announce.ts'
import { checkOf, endedWell, endedWithoutResult } from '../domain/outbox/status-words.ts'
import type { Run } from '../domain/run.ts'
import type { ChannelDeclaration, Content } from '../domain/outbox/channel-declaration.ts'
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
  Written,
} from '../channel.ts'
import { cutBody } from './cut-body.ts'
import { eachPage } from './each-page.ts'
import type { ImageHosts } from './inert-prose.ts'
import { onGitHub } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
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

/**
 * A second check run shows instead of the first, and stays under way for ever; one that is
 * completed cannot be opened again, so every round has its own.
 */
const checkDeclaration = {
  ...onGitHub,
  name: 'github-check',
  kind: 'state',
  place: 'commit',
  replacedBy: 'edit',
  keptCopy: 'newest',
  looksFirst: true,
  inDoubt: { policy: 'confirm', looks: 2 },
  progressWritesMax: null,
  peopleCanRemove: false,
  notifiesPeople: false,
  givesBack: false,
  isAllowedByDefault: false,
  output: {
    targetOf: ({ run, name }) => `check ${run.id} ${run.round} ${name}`,
    markerNamesSubject: true,
  },
  showsWork: (content) => content['status'] !== 'completed',
  closed: (content, run, now) => {
    const { conclusion, title } = checkOf(run)
    return {
      ...content,
      status: 'completed',
      conclusion: endedWell(run) ? 'neutral' : conclusion,
      title: endedWell(run) ? endedWithoutResult : title,
      completedAt: now,
    }
  },
  titleOf: nameIn,
  rightFor: (content) => ({ kind: 'context', value: nameIn(content) }),
  announcement: {
    name: 'check',
    of: (run) => {
      if (run.checkName === null || run.headSha === null) return null
      return {
        target: checkTarget(run),
        markerText: checkMarkerText(run, run.round),
        thread: run.pr,
        sha: run.headSha,
        content: contentFor(run),
      }
    },
  },
  covering: {
    repeatName: 'check again',
    nameOf: nameIn,
    targetOf: checkTarget,
    resultOf: (content) => content['conclusion'],
    markerText: checkMarkerText,
    repeat: checkRepeated,
  },
} as const satisfies ChannelDeclaration

function nameIn(content: Content): string {
  return String(content['name'])
}

function contentFor(run: Run): Content {
  const { startedAt, finishedAt, targetUrl } = run
  return {
    name: run.checkName,
    ...checkOf(run),
    detailsUrl: targetUrl,
    // Only with its end: a new holder is no reason to write.
    startedAt: finishedAt === null ? null : startedAt,
    completedAt: finishedAt,
  }
}

function checkTarget({ id, round, checkName }: Run): string {
  return `check ${id} ${round} ${checkName}`
}

/**
 * All check runs of a commit are in one list, and pull requests can share a commit and its base: so
 * the key names the subject too. Two names of one repository call it the same.
 */
function checkMarkerText(run: Run, round: number): string {
  return `${run.type}\n${run.subject}\n${run.pair}\ncheck ${round}`
}

/** It begins and ends as it is said: whoever goes by times must find it to be the newest, too. */
function checkRepeated(run: Run, coveredBy: string, now: number): AnnouncedOutput {
  return {
    target: `check-again ${run.id} ${run.round} after ${coveredBy}`,
    markerText: `${checkMarkerText(run, run.round)} after ${coveredBy}`,
    thread: run.pr,
    sha: run.headSha,
    content: { ...contentFor(run), startedAt: now, completedAt: now },
  }
}

export class CheckChannel implements Channel<RepositoryTarget> {
  static readonly declaration = checkDeclaration
  readonly declaration = checkDeclaration
  readonly #parts: ChannelParts

  constructor(parts: ChannelParts) {
    this.#parts = parts
  }

  async prepare(target: RepositoryTarget, given: unknown): Promise<Prepared> {
    shaOf(target)
    return prepared(bodyOf(contentOf(checkContent, given), this.#parts.imageHosts))
  }

  async write(target: RepositoryTarget, { body }: Prepared, sendBy: SendBy): Promise<Written> {
    const [route, place] =
      target.providerId === null
        ? [`POST ${ofRepo}`, { head_sha: shaOf(target) }]
        : [`PATCH ${byId}`, { check_run_id: target.providerId }]
    const given = { ...body, ...place, external_id: target.markerKey }
    return (await this.#parts.github.call(target, writtenForm, route, given, sendBy)).data
  }

  async look(
    { target, prepared: wanted, since }: LookRequest<RepositoryTarget>,
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

  async ownershipOf(claim: OwnershipClaim<RepositoryTarget>, sendBy: SendBy): Promise<Ownership> {
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

  placeIsThere(target: RepositoryTarget, sendBy: SendBy): Promise<boolean> {
    return commitIsThere(this.#parts.github, target, sendBy)
  }

  async remove(target: RepositoryTarget, providerId: string, sendBy: SendBy): Promise<void> {
    const given = { check_run_id: providerId, status: 'completed', conclusion: 'cancelled' }
    await unlessGone(this.#parts.github.call(target, writtenForm, `PATCH ${byId}`, given, sendBy))
  }

  async #get(target: RepositoryTarget, sendBy: SendBy): Promise<Check[]> {
    const place = { check_run_id: target.providerId }
    const asked = this.#parts.github.call(target, checkForm, `GET ${byId}`, place, sendBy)
    const found = await unlessGone(asked)
    return found === null ? [] : [found.data]
  }

  /**
   * The newest first. One that is completed cannot show work under way again, so it is not what
   * that is looked for.
   */
  async #list(
    target: RepositoryTarget,
    { name, status }: CheckBody,
    sendBy: SendBy,
  ): Promise<Check[]> {
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

function standingOf(check: Check, body: CheckBody, { markerKey }: RepositoryTarget): FoundOutput {
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
