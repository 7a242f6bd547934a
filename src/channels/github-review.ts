/**
 * Reviews of a pull request: said once, in one call with all their comments on lines.
 *
 * What must hold: known again by author and marker, as a comment is. A review that was handed in
 * cannot be removed.
 */
import { z } from 'zod'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type {
  Channel,
  LookRequest,
  Ownership,
  OwnershipClaim,
  Prepared,
  ReviewComment,
  SendBy,
  LookResult,
  Written,
} from '../channel.ts'
import { authorForm, isByUs } from './authors.ts'
import { cutBody } from './cut-body.ts'
import { eachPage } from './each-page.ts'
import type { ImageHosts } from './inert-prose.ts'
import { judgeMarker, ownerByMarker, withMarker, withoutMarker } from './marker.ts'
import { onGitHub } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
import {
  bodyMax,
  contentOf,
  prepared,
  threadIsThere,
  threadOf,
  unlessGone,
  writtenForm,
} from './parts.ts'
import { safeText } from './safe-text.ts'
import { reviewContent } from './stored-contents.ts'

const ofPull = '/repos/{owner}/{repo}/pulls/{pull_number}/reviews'

const reviewForm = authorForm.extend({
  id: z.number(),
  html_url: z.string().nullish(),
  body: z.string().nullish(),
})

interface ReviewBody extends Record<string, unknown> {
  readonly text: string
  /** All that is sent for a new one. */
  readonly review: { readonly body: string }
}

/** One that was handed in cannot be removed, so no copy is looked for. */
const reviewDeclaration = {
  ...onGitHub,
  name: 'github-review',
  kind: 'message',
  place: 'thread',
  replacedBy: 'edit',
  keptCopy: null,
  looksFirst: true,
  inDoubt: { policy: 'confirm', looks: 2 },
  progressWritesMax: null,
  peopleCanRemove: false,
  notifiesPeople: true,
  givesBack: false,
  isAllowedByDefault: true,
  output: {},
  showsWork: () => false,
  rightFor: ({ event }) =>
    event === 'COMMENT' ? null : { kind: 'decision', value: String(event) },
} as const satisfies ChannelDeclaration

export class ReviewChannel implements Channel<RepositoryTarget> {
  static readonly declaration = reviewDeclaration
  readonly declaration = reviewDeclaration
  readonly #parts: ChannelParts

  constructor(parts: ChannelParts) {
    this.#parts = parts
  }

  async prepare(target: RepositoryTarget, given: unknown): Promise<Prepared> {
    threadOf(target)
    const { imageHosts } = this.#parts
    const keys = await this.#parts.markerKeys()
    const { body, event, commitSha, comments } = contentOf(reviewContent, given)
    const text = cutBody(
      safeText(body, imageHosts),
      bodyMax - withMarker('\n\n', target, keys).length,
    )
    const rest = {
      event,
      ...(commitSha !== null && { commit_id: commitSha }),
      comments: comments.map((each) => lineComment(each, imageHosts)),
    }
    const review = { body: withMarker(text, target, keys), ...rest }
    return prepared({ text, review }, { text, ...rest })
  }

  async write(target: RepositoryTarget, wanted: Prepared, sendBy: SendBy): Promise<Written> {
    const { review } = wanted.body as ReviewBody
    const place = { pull_number: threadOf(target) }
    const { providerId } = target
    const [route, given] =
      providerId === null
        ? [`POST ${ofPull}`, { ...place, ...review }]
        : [`PUT ${ofPull}/{review_id}`, { ...place, review_id: providerId, body: review.body }]
    return (await this.#parts.github.call(target, writtenForm, route, given, sendBy)).data
  }

  /** Always by listing: the list has no `since`, and a review is looked for when its id is lost. */
  async look(
    { target, prepared: wanted }: LookRequest<RepositoryTarget>,
    sendBy: SendBy,
  ): Promise<LookResult> {
    const { github, markerKeys } = this.#parts
    const { text } = wanted.body as ReviewBody
    const [keys, authors] = await Promise.all([markerKeys(), this.#parts.authors()])
    const place = { pull_number: threadOf(target) }
    const form = z.array(reviewForm)
    let unverified = false
    for await (const page of eachPage(github, target, form, `GET ${ofPull}`, place, sendBy)) {
      for (const { id, html_url, body, ...author } of page) {
        if (!isByUs(author, authors)) continue
        const verdict = judgeMarker(body ?? '', target, keys)
        if (verdict === 'unverified') unverified = true
        if (verdict !== 'verified') continue
        const current = withoutMarker(body ?? '') === withoutMarker(text)
        const standing = [{ providerId: String(id), url: html_url ?? null, current }]
        return { found: standing, unverified: false }
      }
    }
    return { found: [], unverified }
  }

  async ownershipOf(claim: OwnershipClaim<RepositoryTarget>, sendBy: SendBy): Promise<Ownership> {
    const { target, providerId } = claim
    const { github, authors, markerKeys } = this.#parts
    const place = { pull_number: threadOf(target), review_id: providerId }
    const route = `GET ${ofPull}/{review_id}`
    const found = await unlessGone(github.call(target, reviewForm, route, place, sendBy))
    if (found === null) return 'absent'
    if (!isByUs(found.data, await authors())) return 'foreign'
    return ownerByMarker(found.data.body ?? '', target, await markerKeys())
  }

  placeIsThere(target: RepositoryTarget, sendBy: SendBy): Promise<boolean> {
    return threadIsThere(this.#parts.github, target, sendBy)
  }
}

function lineComment(
  { path, body, line, side, startLine }: ReviewComment,
  imageHosts: ImageHosts | undefined,
) {
  const to = side ?? 'RIGHT'
  return {
    path,
    body: cutBody(safeText(body, imageHosts), bodyMax),
    line,
    side: to,
    ...(startLine !== null && { start_line: startLine, start_side: to }),
  }
}
