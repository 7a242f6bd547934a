/**
 * Commit statuses. Each write creates a new status, and GitHub shows the newest of a context. So
 * nothing can be edited or removed.
 *
 * What must hold: only the newest of our statuses counts. It is shown only if it is also the newest
 * of its context. If somebody else wrote a newer one, ours is not current.
 */
import { z } from 'zod'
import { endedWell, endedWithoutResult, statusOf } from '../domain/outbox/words/status-words.ts'
import type { ChannelDeclaration, Content } from '../domain/outbox/channel-declaration.ts'
import type {
  Channel,
  LookRequest,
  Ownership,
  OwnershipClaim,
  Prepared,
  SendBy,
  LookResult,
  Written,
} from '../channel.ts'
import { httpUrl, text } from '../validation/text-fields.ts'
import { nullableText, publicName } from './content-fields.ts'
import { onGitHub, publishForm, type ChannelWords } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
import { commitIsThere, contentOf, eachPage, plainLine, prepared, shaOf, sinceOf } from './parts.ts'
import { publishedUrl } from './text/published-url.ts'

const states = ['pending', 'success', 'failure', 'error'] as const

/** As a run sends it. */
const publish = publishForm({
  form: z.strictObject({
    context: publicName(255).describe('The name it is shown under. Case does not count.'),
    state: z.enum(states).describe('Its state.'),
    description: text(2000).optional().describe('One line. Cut to 140 characters.'),
    target_url: httpUrl.optional().describe('Where the details are.'),
  }),
  toStored: ({ context, state, description = '', target_url: targetUrl = null }) => {
    return { context, state, description, targetUrl } satisfies StatusContent
  },
  docs: { id: 'OwnStatus', title: 'Commit status' },
})

/** As the store keeps it. */
export const statusContent = z.object({
  context: z.string().min(1),
  state: z.enum(states),
  description: z.string(),
  targetUrl: nullableText,
})
export type StatusContent = z.infer<typeof statusContent>

/** GitHub refuses a longer one. */
export const descriptionMax = 140

/** The URL in GitHub's answer is for programs. People look at the commit. */
const writtenStatus = z
  .object({ id: z.number() })
  .transform(({ id }) => ({ providerId: String(id), url: null }))

const statusForm = z.object({
  id: z.number(),
  context: z.string(),
  state: z.string(),
  description: z.string().nullish(),
  target_url: z.string().nullish(),
  creator: z.object({ id: z.number() }).nullish(),
  created_at: z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
})

interface StatusBody extends Record<string, unknown> {
  readonly context: string
  readonly state: string
  readonly description: string | null
  readonly target_url: string | null
}

/** GitHub accepts 1,000 per commit and context. The last ones are reserved for how runs end. */
const progressStatusesMax = 950

/** Pull requests can share a commit, and so a status. */
const statusDeclaration = {
  ...onGitHub,
  name: 'github-status',
  kind: 'state',
  place: 'commit',
  replacedBy: 'create',
  keptCopy: null,
  looksFirst: false,
  inDoubt: { policy: 'confirm', looks: 1 },
  progressWritesMax: progressStatusesMax,
  peopleCanRemove: false,
  notifiesPeople: false,
  givesBack: true,
  isAllowedByDefault: false,
  output: {
    targetOf: ({ run, repositoryId, content }) =>
      statusTarget(repositoryId, run.headSha ?? '', contextIn(content)),
  },
  showsWork: (content) => content['state'] === 'pending',
  closed: (content, run) => {
    const { state, description } = statusOf(run)
    const unfinished = { state: 'error', description: endedWithoutResult }
    return { ...content, ...(endedWell(run) ? unfinished : { state, description }) }
  },
  titleOf: contextIn,
  rightFor: (content) => ({ kind: 'context', value: contextIn(content) }),
  announcement: {
    name: 'status',
    of: (run, repositoryId) => {
      const { statusContext, headSha } = run
      if (statusContext === null || headSha === null) return null
      return {
        target: statusTarget(repositoryId, headSha, statusContext),
        markerText: `${run.type}\n${run.pair}\nstatus`,
        thread: run.pr,
        sha: headSha,
        content: { context: statusContext, ...statusOf(run), targetUrl: run.targetUrl },
      }
    },
  },
} as const satisfies ChannelDeclaration

function contextIn(content: Content): string {
  return String(content['context'])
}

/** For GitHub, contexts that differ only in case are the same. */
function statusTarget(repositoryId: string, sha: string, context: string): string {
  return `status ${repositoryId} ${sha} ${context.toLowerCase()}`
}

export class StatusChannel implements Channel<RepositoryTarget> {
  static readonly declaration = statusDeclaration
  static readonly publish = publish
  static readonly words: ChannelWords = { noun: 'commit status', sentAs: 'state' }
  readonly declaration = statusDeclaration
  readonly #parts: ChannelParts

  constructor(parts: ChannelParts) {
    this.#parts = parts
  }

  async prepare(target: RepositoryTarget, given: unknown): Promise<Prepared> {
    shaOf(target)
    const { context, state, description, targetUrl } = contentOf(statusContent, given)
    const shown = plainLine(description, descriptionMax)
    const body: StatusBody = {
      context,
      state,
      description: shown === '' ? null : shown,
      target_url: publishedUrl(targetUrl),
    }
    return prepared(body)
  }

  async write(target: RepositoryTarget, { body }: Prepared, sendBy: SendBy): Promise<Written> {
    const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
    const given = { ...body, sha: shaOf(target) }
    return (await this.#parts.github.call(target, writtenStatus, route, given, sendBy)).data
  }

  async look(
    { target, prepared: wanted, since }: LookRequest<RepositoryTarget>,
    sendBy: SendBy,
  ): Promise<LookResult> {
    const body = wanted.body as StatusBody
    const { userIds } = await this.#parts.authors()
    let isHidden = false
    for await (const status of this.#newestFirst(target, since, sendBy)) {
      if (status.context.toLowerCase() !== body.context.toLowerCase()) continue
      if (status.creator == null || !userIds.has(status.creator.id)) {
        isHidden = true
        continue
      }
      // A newer status of somebody else does not matter for whether ours arrived.
      const current = shows(status, body) && (since !== null || !isHidden)
      const atWork = status.state === 'pending'
      const shown = !isHidden && { hash: hashOf(status, body) }
      const found = [{ providerId: String(status.id), url: null, current, atWork, ...shown }]
      return { found, unverified: false }
    }
    return { found: [], unverified: false }
  }

  /** GitHub cannot be asked for one status, so it is looked for in the list. */
  async ownershipOf(claim: OwnershipClaim<RepositoryTarget>, sendBy: SendBy): Promise<Ownership> {
    const { target, providerId, content } = claim
    const { userIds } = await this.#parts.authors()
    for await (const status of this.#newestFirst(target, null, sendBy)) {
      if (String(status.id) !== providerId) continue
      const { context } = contentOf(statusContent, content)
      if (status.context.toLowerCase() !== context.toLowerCase()) return 'another'
      return status.creator != null && userIds.has(status.creator.id) ? 'ours' : 'foreign'
    }
    return 'absent'
  }

  placeIsThere(target: RepositoryTarget, sendBy: SendBy): Promise<boolean> {
    return commitIsThere(this.#parts.github, target, sendBy)
  }

  /** With `since`, only newer statuses than that time and than the last one that we know. */
  async *#newestFirst(target: RepositoryTarget, since: number | null, sendBy: SendBy) {
    const { github } = this.#parts
    const asked = { ref: shaOf(target) }
    const route = 'GET /repos/{owner}/{repo}/commits/{ref}/statuses'
    const oldest = sinceOf(github, since) ?? -Infinity
    const above = since === null ? -Infinity : Number(target.providerId ?? -Infinity)
    const pages = eachPage(github, target, z.array(statusForm), route, asked, sendBy)
    for await (const page of pages) {
      for (const status of page) {
        if (status.id <= above || status.created_at < oldest) return
        yield status
      }
    }
  }
}

/** The hash that our content would have if it showed the same. */
function hashOf({ state, ...shown }: z.infer<typeof statusForm>, { context }: StatusBody): string {
  const description = shown.description ?? ''
  const url = shown.target_url ?? ''
  const body: StatusBody = {
    context,
    state,
    description: description === '' ? null : description,
    target_url: url === '' ? null : url,
  }
  return prepared(body).hash
}

function shows(status: z.infer<typeof statusForm>, body: StatusBody): boolean {
  return (
    status.state === body.state &&
    (status.description ?? '') === (body.description ?? '') &&
    (status.target_url ?? '') === (body.target_url ?? '')
  )
}
