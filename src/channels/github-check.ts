/**
 * Check runs, which only an App can write. Holdfast recognises its own by `external_id`, which
 * contains the delivery's key.
 *
 * What must hold: of several with our key the newest is kept, because GitHub shows the newest of a
 * name. A check run cannot be removed, so an older copy is completed and does not stay in progress.
 */
import { z } from 'zod'
import type { AnnouncedOutput } from '../domain/outbox/announce.ts'
import { checkOf, endedWell, endedWithoutResult } from '../domain/outbox/words/status-words.ts'
import type { Run } from '../domain/run.ts'
import type { ChannelDeclaration, Content } from '../domain/outbox/channel-declaration.ts'
import type {
  Channel,
  LookRequest,
  Ownership,
  OwnershipClaim,
  Prepared,
  SendBy,
  LookResult,
  FoundOutput,
  Written,
} from '../channel.ts'
import { httpUrl, text } from '../validation/text-fields.ts'
import { markdown, nullableText, publicName } from './content-fields.ts'
import { onGitHub, publishForm, type ChannelWords } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
import {
  bodyMax,
  commitIsThere,
  contentOf,
  eachPage,
  isoOf,
  plainLine,
  prepared,
  shaOf,
  unlessGone,
  writtenForm,
} from './parts.ts'
import { cutBody } from './text/cut-body.ts'
import type { ImageHosts } from './text/inert-prose.ts'
import { publishedUrl } from './text/published-url.ts'
import { safeText } from './text/safe-text.ts'

const statuses = ['queued', 'in_progress', 'completed'] as const
const conclusions = [
  'success',
  'failure',
  'neutral',
  'cancelled',
  'skipped',
  'timed_out',
  'action_required',
] as const

const requestForm = z
  .strictObject({
    name: publicName(255).describe('The name it is shown under.'),
    status: z
      .enum(statuses)
      .optional()
      .describe('Default: `completed` if there is a conclusion, otherwise `in_progress`.'),
    conclusion: z.enum(conclusions).optional().describe('How it ended.'),
    title: text(2000).optional().describe('One line above the summary.'),
    summary: markdown.optional(),
    details_url: httpUrl.optional().describe('Where the details are.'),
  })
  .superRefine(({ status, conclusion }, context) => {
    if (status === 'completed' && conclusion === undefined) {
      const message = 'is required when status is completed'
      context.addIssue({ code: 'custom', path: ['conclusion'], message })
    }
    if (status !== undefined && status !== 'completed' && conclusion !== undefined) {
      const message = 'must be completed, or left out, when there is a conclusion'
      context.addIssue({ code: 'custom', path: ['status'], message })
    }
  })

/** As a run sends it. */
const publish = publishForm({
  form: requestForm,
  toStored: ({ name, status, conclusion = null, title = '', summary = '', details_url }) => {
    return {
      name,
      status: status ?? (conclusion === null ? 'in_progress' : 'completed'),
      conclusion,
      title,
      summary,
      detailsUrl: details_url ?? null,
      startedAt: null,
      completedAt: null,
    } satisfies CheckContent
  },
  docs: {
    id: 'OwnCheck',
    title: 'Check run',
    examples: [
      {
        lease_token: 'hfl_…',
        channel: 'github-check',
        name: 'acme/lint',
        status: 'completed',
        conclusion: 'success',
        title: 'Nothing found',
      },
    ],
  },
})

/** As the store keeps it. */
export const checkContent = z.object({
  name: z.string().min(1),
  status: z.enum(statuses),
  conclusion: z.enum(conclusions).nullable(),
  title: z.string(),
  summary: z.string(),
  detailsUrl: nullableText,
  startedAt: z.number().nullable(),
  completedAt: z.number().nullable(),
})
export type CheckContent = z.infer<typeof checkContent>

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

/** In GitHub's words. GitHub leaves a field that is missing here unchanged. */
interface CheckBody extends Record<string, unknown> {
  readonly name: string
  readonly status: string
  readonly conclusion?: string
  readonly details_url?: string
  readonly output?: { readonly title: string; readonly summary: string }
}

/**
 * GitHub would show a second check run instead of the first, which would then stay in progress. A
 * completed one cannot be reopened, so every round has its own.
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
  repeatWhenHidden: {
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
    // Not before it ended: a new holder alone is no reason to write.
    startedAt: finishedAt === null ? null : startedAt,
    completedAt: finishedAt,
  }
}

function checkTarget({ id, round, checkName }: Run): string {
  return `check ${id} ${round} ${checkName}`
}

/**
 * GitHub has one list for all check runs of a commit, and pull requests can share a commit and its
 * base. So the key names the subject too. Two names of one repository give the same subject.
 */
function checkMarkerText(run: Run, round: number): string {
  return `${run.type}\n${run.subject}\n${run.pair}\ncheck ${round}`
}

/** It begins and ends now, so that it is also the newest one by its times. */
function checkRepeated(run: Run, hiddenBy: string, now: number): AnnouncedOutput {
  return {
    target: `check-again ${run.id} ${run.round} after ${hiddenBy}`,
    markerText: `${checkMarkerText(run, run.round)} after ${hiddenBy}`,
    thread: run.pr,
    sha: run.headSha,
    content: { ...contentFor(run), startedAt: now, completedAt: now },
  }
}

export class CheckChannel implements Channel<RepositoryTarget> {
  static readonly declaration = checkDeclaration
  static readonly publish = publish
  static readonly words: ChannelWords = { noun: 'check run', sentAs: 'state' }
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
      const found = newest === undefined ? [] : [foundOutput(newest, body, target)]
      return { found, unverified: false }
    }
    const checks = isKnown
      ? await this.#get(target, sendBy)
      : await this.#list(target, body, sendBy)
    return { found: checks.map((check) => foundOutput(check, body, target)), unverified: false }
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
   * The newest first. A completed check run cannot be in progress again. So it is left out if one
   * in progress is looked for.
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
    // GitHub accepts a title and a summary only together.
    ...(isShown && { output: { title: title === '' ? name : title, summary } }),
  }
}

function foundOutput(check: Check, body: CheckBody, target: RepositoryTarget): FoundOutput {
  const { id, html_url, status, conclusion, details_url, output } = check
  const current =
    check.external_id === target.markerKey &&
    status === body.status &&
    (conclusion ?? null) === (body.conclusion ?? null) &&
    // If we give no address, GitHub shows the App's own page.
    (body.details_url === undefined || details_url === body.details_url) &&
    (output?.title ?? '') === (body.output?.title ?? '') &&
    (output?.summary ?? '') === (body.output?.summary ?? '')
  return { providerId: String(id), url: html_url ?? null, current, atWork: status !== 'completed' }
}
