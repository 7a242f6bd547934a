/**
 * Comments on a pull request or issue: the anchor, which is edited in place, and plain comments,
 * which are written once.
 *
 * What must hold: a comment is ours if our account wrote it and it has this delivery's marker. A
 * comment whose id we stored stays ours, also if somebody removed its marker.
 */
import { z } from 'zod'
import { anchorView, locales, resultPairsOf } from '../domain/outbox/anchor-view.ts'
import type { AnnouncedOutput, RunMoment } from '../domain/outbox/announce.ts'
import { anchorTarget } from '../domain/outbox/announce.ts'
import type { Run } from '../domain/run.ts'
import { runStates, verdicts } from '../domain/run.ts'
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
import type { AnchorView } from '../domain/outbox/anchor-view.ts'
import { nonEmptyMarkdown, nullableText } from './content-fields.ts'
import { judgeMarker, ownerByMarker, withMarker, withoutMarker } from './marker.ts'
import { onGitHub, publishForm, type ChannelWords } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
import {
  authorForm,
  bodyMax,
  contentOf,
  eachPage,
  isByUs,
  isoOf,
  prepared,
  sinceOf,
  threadIsThere,
  threadOf,
  unlessGone,
  writtenForm,
} from './parts.ts'
import { renderAnchor } from './render-anchor.ts'
import { resultMark, withResultMark } from './result-mark.ts'
import { cutBody } from './text/cut-body.ts'
import { safeText } from './text/safe-text.ts'

/** As a run sends it. Only Holdfast itself writes anchors. */
const publish = publishForm({
  form: z.strictObject({ body: nonEmptyMarkdown }),
  toStored: ({ body }): CommentContent => ({ form: 'text', body }),
  docs: { id: 'OwnComment', title: 'Comment' },
})

const time = z.number()
const storedView: z.ZodType<AnchorView> = z.object({
  locale: z.enum(locales),
  type: z.string(),
  runId: z.string(),
  state: z.enum(runStates),
  verdict: z.enum(verdicts).nullable(),
  round: z.number(),
  attempt: z.number(),
  headSha: nullableText,
  baseSha: nullableText,
  createdAt: time,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  summary: nullableText,
  errorCode: nullableText,
  errorText: nullableText,
  targetUrl: nullableText,
  reports: z.array(z.object({ text: z.string(), count: z.number(), at: time })),
  phases: z.array(
    z.object({
      name: z.string(),
      state: z.enum(['pending', 'active', 'waiting_approval', 'blocked', 'complete', 'failed']),
    }),
  ),
  past: z.array(
    z.object({
      runId: z.string(),
      headSha: nullableText,
      state: z.enum(runStates),
      at: time,
      resultPair: z.string().optional(),
    }),
  ),
  pastMore: z.number(),
})

/** As the store keeps it. */
export const commentContent = z.discriminatedUnion('form', [
  z.object({ form: z.literal('anchor'), view: storedView }),
  z.object({ form: z.literal('text'), body: z.string() }),
])
export type CommentContent = z.infer<typeof commentContent>

const ofThread = '/repos/{owner}/{repo}/issues/{issue_number}/comments'
const byId = '/repos/{owner}/{repo}/issues/comments/{comment_id}'

const commentForm = authorForm.extend({
  id: z.number(),
  html_url: z.string().nullish(),
  body: z.string().nullish(),
  issue_url: z.string().nullish(),
})
type Comment = z.infer<typeof commentForm>

/** `text` is what people see, `body` the same with its marker. */
interface CommentBody extends Record<string, unknown> {
  readonly text: string
  readonly body: string
}

/** People would see a copy as a second comment, so copies are found and removed. */
const commentDeclaration = {
  ...onGitHub,
  name: 'github-comment',
  // Of a comment that a run publishes itself. An anchor is always a state.
  kind: 'message',
  place: 'thread',
  replacedBy: 'edit',
  keptCopy: 'oldest',
  looksFirst: true,
  inDoubt: { policy: 'confirm', looks: 2 },
  progressWritesMax: null,
  peopleCanRemove: true,
  notifiesPeople: true,
  givesBack: false,
  isAllowedByDefault: true,
  output: {},
  showsWork: () => false,
  announcement: { name: 'anchor', of: anchorOf },
  replyContent: (body) => ({ form: 'text', body }),
} as const satisfies ChannelDeclaration

function anchorOf(run: Run, _repositoryId: string, { claim }: RunMoment): AnnouncedOutput | null {
  if (run.anchorPer === null || run.pr === null) return null
  const perRun = run.anchorPer === 'run'
  return {
    target: anchorTarget(run),
    markerText: `${run.type}\n${perRun ? run.pair : run.subject}\nanchor`,
    thread: run.pr,
    sha: null,
    content: (shown, before) => ({ form: 'anchor', view: anchorView(shown, viewIn(before)) }),
    claim: anchorClaim(run, claim),
  }
}

/** A run that queues leaves the comment to the run before it. A skipped run creates none. */
function anchorClaim(run: Run, claim: RunMoment['claim']): RunMoment['claim'] {
  if (claim !== 'take') return claim
  if (run.state === 'skipped') return 'take-existing'
  return run.state === 'pending' && run.availableAt === null ? 'keep' : 'take'
}

const viewIn = (before: Content | null): AnchorView | null =>
  (before as { readonly view?: AnchorView } | null)?.view ?? null

export class CommentChannel implements Channel<RepositoryTarget> {
  static readonly declaration = commentDeclaration
  static readonly publish = publish
  static readonly words: ChannelWords = { noun: 'comment', sentAs: 'created or updated' }
  readonly declaration = commentDeclaration
  readonly #parts: ChannelParts

  constructor(parts: ChannelParts) {
    this.#parts = parts
  }

  async prepare(target: RepositoryTarget, given: unknown): Promise<Prepared> {
    threadOf(target)
    const { markerKeys, imageHosts } = this.#parts
    const keys = await markerKeys()
    const maxLength = bodyMax - withMarker('\n\n', target, keys).length
    const content = contentOf(commentContent, given)
    const text =
      content.form === 'text'
        ? cutBody(safeText(content.body, imageHosts), maxLength)
        : this.#anchorText(content.view, maxLength)
    return prepared({ text, body: withMarker(text, target, keys) }, text)
  }

  #anchorText(view: AnchorView, maxLength: number): string {
    const { imageHosts } = this.#parts
    const mark = resultMark({ type: view.type, pairs: resultPairsOf(view) })
    const room = maxLength - withResultMark('', mark).length
    return withResultMark(renderAnchor(view, { imageHosts, maxLength: room }), mark)
  }

  async write(target: RepositoryTarget, wanted: Prepared, sendBy: SendBy): Promise<Written> {
    const { github } = this.#parts
    const { body } = wanted.body as CommentBody
    const [route, place] =
      target.providerId === null
        ? [`POST ${ofThread}`, { issue_number: threadOf(target) }]
        : [`PATCH ${byId}`, { comment_id: target.providerId }]
    return (await github.call(target, writtenForm, route, { ...place, body }, sendBy)).data
  }

  async look(
    { target, mayBeAnother, ...request }: LookRequest<RepositoryTarget>,
    sendBy: SendBy,
  ): Promise<LookResult> {
    const { prepared: wanted, since } = request
    const { text } = wanted.body as CommentBody
    if (target.providerId !== null && since === null) {
      const found = await this.#get(target, sendBy)
      if (found !== null) return { found: [foundOutput(found, text)], unverified: false }
      if (mayBeAnother !== true) return { found: [], unverified: false }
      return await this.look({ ...request, target: { ...target, providerId: null } }, sendBy)
    }
    const { providerId } = target
    const listed = await this.#list(target, since, sendBy)
    const isListed = listed.ours.some(({ id }) => String(id) === providerId)
    // A comment that did not change since then is not in the list, but may still exist.
    const known = providerId === null || isListed ? null : await this.#get(target, sendBy)
    const ours = [...(known === null ? [] : [known]), ...listed.ours]
    return {
      found: ours.sort((a, b) => a.id - b.id).map((comment) => foundOutput(comment, text)),
      // If one of ours exists, none has to be created, so an unverified one does not matter.
      unverified: listed.unverified && ours.length === 0,
    }
  }

  placeIsThere(target: RepositoryTarget, sendBy: SendBy): Promise<boolean> {
    return threadIsThere(this.#parts.github, target, sendBy)
  }

  async ownershipOf(claim: OwnershipClaim<RepositoryTarget>, sendBy: SendBy): Promise<Ownership> {
    const { target, providerId } = claim
    const comment = await this.#get({ ...target, providerId }, sendBy)
    if (comment === null) return 'absent'
    if (!isByUs(comment, await this.#parts.authors())) return 'foreign'
    const [, thread] = /\/issues\/(\d+)$/.exec(comment.issue_url ?? '') ?? []
    if (thread !== String(threadOf(target))) return 'elsewhere'
    return ownerByMarker(comment.body ?? '', target, await this.#parts.markerKeys())
  }

  async remove(target: RepositoryTarget, providerId: string, sendBy: SendBy): Promise<void> {
    const place = { comment_id: providerId }
    await unlessGone(this.#parts.github.call(target, z.unknown(), `DELETE ${byId}`, place, sendBy))
  }

  async #get(target: RepositoryTarget, sendBy: SendBy): Promise<Comment | null> {
    const place = { comment_id: target.providerId }
    const asked = this.#parts.github.call(target, commentForm, `GET ${byId}`, place, sendBy)
    return (await unlessGone(asked))?.data ?? null
  }

  async #list(target: RepositoryTarget, since: number | null, sendBy: SendBy) {
    const { github, markerKeys } = this.#parts
    const [keys, authors] = await Promise.all([markerKeys(), this.#parts.authors()])
    const theirSince = sinceOf(github, since)
    const asked = {
      issue_number: threadOf(target),
      ...(theirSince !== null && { since: isoOf(theirSince) }),
    }
    const ours: Comment[] = []
    let unverified = false
    const form = z.array(commentForm)
    for await (const page of eachPage(github, target, form, `GET ${ofThread}`, asked, sendBy)) {
      for (const comment of page.filter((each) => isByUs(each, authors))) {
        const verdict = judgeMarker(comment.body ?? '', target, keys)
        const isRecorded = String(comment.id) === target.providerId
        if (verdict === 'verified' || isRecorded) ours.push(comment)
        else if (verdict === 'unverified') unverified = true
      }
    }
    return { ours, unverified }
  }
}

function foundOutput({ id, html_url, body }: Comment, text: string): FoundOutput {
  const current = withoutMarker(body ?? '') === withoutMarker(text)
  return { providerId: String(id), url: html_url ?? null, current }
}
