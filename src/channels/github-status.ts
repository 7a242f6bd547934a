/**
 * Commit statuses. Each write is a new one, and GitHub shows the newest of a context: there is
 * nothing to edit and nothing to remove.
 *
 * What must hold: of ours only the newest counts as what stands. Whether it shows is decided by the
 * newest of its context, by whomever: a status that somebody else put over ours is not current.
 */
import { z } from 'zod'
import { endedWell, endedWithoutResult, statusOf } from '../domain/outbox/status-words.ts'
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
import { eachPage } from './each-page.ts'
import { onGitHub } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
import { commitIsThere, contentOf, plainLine, prepared, shaOf, sinceOf } from './parts.ts'
import { publishedUrl } from './published-url.ts'
import { statusContent } from './stored-contents.ts'

/** GitHub refuses a longer one. */
const descriptionMax = 140

/** The URL of a status is the API's own; people look at the commit. */
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

/** Of the 1,000 that GitHub takes per commit and context; the last ones are for how it ended. */
const progressStatusesMax = 950

/** Every status is a new one. Pull requests share commits, and so a status. */
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
    const left = { state: 'error', description: endedWithoutResult }
    return { ...content, ...(endedWell(run) ? left : { state, description }) }
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

/** GitHub takes contexts that differ in case for one. */
function statusTarget(repositoryId: string, sha: string, context: string): string {
  return `status ${repositoryId} ${sha} ${context.toLowerCase()}`
}

export class StatusChannel implements Channel<RepositoryTarget> {
  static readonly declaration = statusDeclaration
  readonly declaration = statusDeclaration
  readonly #parts: ChannelParts

  constructor(parts: ChannelParts) {
    this.#parts = parts
  }

  async prepare(target: RepositoryTarget, given: unknown): Promise<Prepared> {
    shaOf(target)
    const { context, state, description, targetUrl } = contentOf(statusContent, given)
    const said = plainLine(description, descriptionMax)
    const body: StatusBody = {
      context,
      state,
      description: said === '' ? null : said,
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
    let isCovered = false
    for await (const status of this.#newestFirst(target, since, sendBy)) {
      if (status.context.toLowerCase() !== body.context.toLowerCase()) continue
      if (status.creator == null || !userIds.has(status.creator.id)) {
        isCovered = true
        continue
      }
      // Whether one of ours arrived at all does not depend on what came over it.
      const current = shows(status, body) && (since !== null || !isCovered)
      const atWork = status.state === 'pending'
      const shown = !isCovered && { hash: hashOf(status, body) }
      const standing = [{ providerId: String(status.id), url: null, current, atWork, ...shown }]
      return { found: standing, unverified: false }
    }
    return { found: [], unverified: false }
  }

  /** A status has no address of its own; its context is this delivery's, or it is another's. */
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

  /** With `since`, only what can be of the attempt in question: later, above the last we know. */
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

/** As if this one were to be sent. */
function hashOf({ state, ...said }: z.infer<typeof statusForm>, { context }: StatusBody): string {
  const description = said.description ?? ''
  const url = said.target_url ?? ''
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
