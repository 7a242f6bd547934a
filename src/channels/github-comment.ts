/**
 * Comments on a pull request or issue: the anchor, which is edited in place, and plain ones, which
 * are said once.
 *
 * What must hold: ours is what our author wrote with this delivery's marker, wherever it stands in
 * the list; what we recorded as ours stays ours, even when somebody edited its marker away.
 */
import { z } from 'zod'
import { anchorView, resultPairsOf } from '../domain/outbox/anchor-view.ts'
import type { AnnouncedOutput, RunMoment } from '../domain/outbox/announce.ts'
import { anchorTarget } from '../domain/outbox/announce.ts'
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
import type { AnchorView } from '../domain/outbox/anchor-view.ts'
import { renderAnchor } from './anchor/render-anchor.ts'
import { authorForm, isByUs } from './authors.ts'
import { cutBody } from './cut-body.ts'
import { eachPage } from './each-page.ts'
import { judgeMarker, ownerByMarker, withMarker, withoutMarker } from './marker.ts'
import { onGitHub } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
import {
  bodyMax,
  contentOf,
  isoOf,
  prepared,
  sinceOf,
  threadIsThere,
  threadOf,
  unlessGone,
  writtenForm,
} from './parts.ts'
import { resultMark, withResultMark } from './result-mark.ts'
import { safeText } from './safe-text.ts'
import { commentContent } from './stored-contents.ts'

const ofThread = '/repos/{owner}/{repo}/issues/{issue_number}/comments'
const byId = '/repos/{owner}/{repo}/issues/comments/{comment_id}'

const commentForm = authorForm.extend({
  id: z.number(),
  html_url: z.string().nullish(),
  body: z.string().nullish(),
  issue_url: z.string().nullish(),
})
type Comment = z.infer<typeof commentForm>

/** `text` is what shows, `body` the same with its marker. */
interface CommentBody extends Record<string, unknown> {
  readonly text: string
  readonly body: string
}

/** A run's anchor, and plain words. Copies show twice, so they are found and removed. */
const commentDeclaration = {
  ...onGitHub,
  name: 'github-comment',
  // What a run says of its own; an anchor is a state, and whoever wants it says so.
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
  wordsOf: (body) => ({ form: 'text', body }),
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

/** One that queues leaves the comment to the run before it; one that is skipped makes none. */
function anchorClaim(run: Run, claim: RunMoment['claim']): RunMoment['claim'] {
  if (claim !== 'take') return claim
  if (run.state === 'skipped') return 'take-existing'
  return run.state === 'pending' && run.availableAt === null ? 'keep' : 'take'
}

const viewIn = (before: Content | null): AnchorView | null =>
  (before as { readonly view?: AnchorView } | null)?.view ?? null

export class CommentChannel implements Channel<RepositoryTarget> {
  static readonly declaration = commentDeclaration
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
    { target, mayBeAnother, ...rest }: LookRequest<RepositoryTarget>,
    sendBy: SendBy,
  ): Promise<LookResult> {
    const { prepared: wanted, since } = rest
    const { text } = wanted.body as CommentBody
    if (target.providerId !== null && since === null) {
      const found = await this.#get(target, sendBy)
      if (found !== null) return { found: [standing(found, text)], unverified: false }
      if (mayBeAnother !== true) return { found: [], unverified: false }
      return await this.look({ ...rest, target: { ...target, providerId: null } }, sendBy)
    }
    const { providerId } = target
    const listed = await this.#list(target, since, sendBy)
    const isListed = listed.ours.some(({ id }) => String(id) === providerId)
    // What did not change since is not in the list, and what we know of stands all the same.
    const known = providerId === null || isListed ? null : await this.#get(target, sendBy)
    const ours = [...(known === null ? [] : [known]), ...listed.ours]
    return {
      found: ours.sort((a, b) => a.id - b.id).map((comment) => standing(comment, text)),
      // Where one of ours stands there is nothing to make anew, whatever else somebody wrote.
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

function standing({ id, html_url, body }: Comment, text: string): FoundOutput {
  const current = withoutMarker(body ?? '') === withoutMarker(text)
  return { providerId: String(id), url: html_url ?? null, current }
}
