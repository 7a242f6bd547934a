/**
 * Reviews of a pull request. A review is written once, in one call with all its comments on lines.
 *
 * What must hold: Holdfast recognises its review by author and marker, like a comment. A submitted
 * review cannot be removed.
 */
import { z } from 'zod'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
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
import { line } from '../validation/text-fields.ts'
import { markdown, nonEmptyMarkdown, nullableText } from './content-fields.ts'
import { judgeMarker, ownerByMarker, withMarker, withoutMarker } from './marker.ts'
import { onGitHub, publishForm, type ChannelWords } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
import {
  authorForm,
  bodyMax,
  contentOf,
  eachPage,
  isByUs,
  prepared,
  threadIsThere,
  threadOf,
  unlessGone,
  writtenForm,
} from './parts.ts'
import { cutBody } from './text/cut-body.ts'
import type { ImageHosts } from './text/inert-prose.ts'
import { safeText } from './text/safe-text.ts'

const lineCommentsMax = 100
const events = ['COMMENT', 'APPROVE', 'REQUEST_CHANGES'] as const
const sides = ['LEFT', 'RIGHT'] as const
const lineNumber = z.int().min(1, 'must be a positive whole number')

export const lineComment = z
  .strictObject({
    path: line(4096).describe('The file, from the top of the repository.'),
    line: lineNumber.meta({ examples: [12], description: 'The line, or the last of several.' }),
    side: z.enum(sides).optional().describe('Default: `RIGHT`, the new text.'),
    start_line: lineNumber
      .optional()
      .meta({ examples: [10], description: 'The first of several lines.' }),
    body: nonEmptyMarkdown,
  })
  .superRefine(({ line: last, start_line: first }, context) => {
    if (first === undefined || first < last) return
    const message = 'must be before line; leave it out for a single line'
    context.addIssue({ code: 'custom', path: ['start_line'], message })
  })

/** As a run sends it. */
const publish = publishForm({
  form: z.strictObject({
    body: markdown,
    event: z.enum(events).optional().describe('Default: `COMMENT`.'),
    comments: z
      .array(lineComment)
      .max(lineCommentsMax, `must be at most ${lineCommentsMax} comments`)
      .optional()
      .describe('Comments on lines of the change.'),
  }),
  toStored: ({ body, event = 'COMMENT', comments = [] }): ReviewContent => ({
    body,
    event,
    commitSha: null,
    comments: comments.map(({ side = null, start_line: startLine = null, ...comment }) => {
      return { path: comment.path, line: comment.line, side, startLine, body: comment.body }
    }),
  }),
  docs: { id: 'OwnReview', title: 'Review' },
})

/** As the store keeps it. */
export const reviewContent = z.object({
  body: z.string(),
  event: z.enum(events),
  commitSha: nullableText,
  comments: z.array(
    z.object({
      path: z.string(),
      body: z.string(),
      line: z.number(),
      side: z.enum(sides).nullable(),
      startLine: z.number().nullable(),
    }),
  ),
})
export type ReviewContent = z.infer<typeof reviewContent>

const ofPull = '/repos/{owner}/{repo}/pulls/{pull_number}/reviews'

const reviewForm = authorForm.extend({
  id: z.number(),
  html_url: z.string().nullish(),
  body: z.string().nullish(),
})

interface ReviewBody extends Record<string, unknown> {
  readonly text: string
  /** What is sent to create one. */
  readonly review: { readonly body: string }
}

/** A submitted review cannot be removed, so copies are not looked for. */
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
  static readonly publish = publish
  static readonly words: ChannelWords = { noun: 'review', sentAs: 'created or updated' }
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
    const decision = {
      event,
      ...(commitSha !== null && { commit_id: commitSha }),
      comments: comments.map((each) => sentComment(each, imageHosts)),
    }
    const review = { body: withMarker(text, target, keys), ...decision }
    return prepared({ text, review }, { text, ...decision })
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

  /** Always reads the list: it has no `since`, and a review is looked for only without its id. */
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
        const found = [{ providerId: String(id), url: html_url ?? null, current }]
        return { found, unverified: false }
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

function sentComment(
  { path, body, line: last, side, startLine }: ReviewContent['comments'][number],
  imageHosts: ImageHosts | undefined,
) {
  const to = side ?? 'RIGHT'
  return {
    path,
    body: cutBody(safeText(body, imageHosts), bodyMax),
    line: last,
    side: to,
    ...(startLine !== null && { start_line: startLine, start_side: to }),
  }
}
