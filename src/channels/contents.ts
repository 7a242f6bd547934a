/**
 * What a run may publish of its own, as it is given on the wire, for each channel; and how that
 * becomes what the store keeps. The one place that says what may be given.
 */
import { z } from 'zod'
import type {
  CheckContent,
  CommentContent,
  LabelContent,
  ReviewContent,
  StatusContent,
} from '../channel.ts'
import { checkConclusions } from '../channel.ts'
import { InvalidInputError } from '../errors.ts'
import { hideSecrets } from '../hide-secrets.ts'
import { joinedWords } from '../invisible-text.ts'
import { findingsOf } from '../validation/findings.ts'
import { httpUrl, line, text } from '../validation/text-fields.ts'
import type { ChannelName } from './github-channels.ts'
import { isLabelName } from './stored-contents.ts'

/** What does not fit into a comment is cut; this is only where cutting stops being sensible. */
const textMax = 200_000
const lineCommentsMax = 100

const markdown = text(textMax).describe('Markdown. Cut where GitHub takes no more.')
const someMarkdown = markdown.refine((value) => value.trim() !== '', 'must not be empty')
/** GitHub knows it by this name, so nothing in it can be hidden. */
const name = (max: number) =>
  line(max).refine((value) => hideSecrets(value) === joinedWords(value), 'must not hold a secret')
const lineNumber = z.int().min(1, 'must be a positive whole number')

const comment = z.strictObject({ body: someMarkdown })

const status = z.strictObject({
  context: name(255).describe('The name it shows under; upper and lower case are one.'),
  state: z.enum(['pending', 'success', 'failure', 'error']).describe('How it stands.'),
  description: text(2000).optional().describe('One line; cut to 140 characters.'),
  target_url: httpUrl.optional().describe('Where the details are.'),
})

const check = z
  .strictObject({
    name: name(255).describe('The name it shows under.'),
    status: z
      .enum(['queued', 'in_progress', 'completed'])
      .optional()
      .describe('`completed` when there is a conclusion, else `in_progress`.'),
    conclusion: z.enum(checkConclusions).optional().describe('How it ended.'),
    title: text(2000).optional().describe('One line above the summary.'),
    summary: markdown.optional(),
    details_url: httpUrl.optional().describe('Where the details are.'),
  })
  .superRefine(({ status: at, conclusion }, context) => {
    if (at === 'completed' && conclusion === undefined) {
      const message = 'is required when status is completed'
      context.addIssue({ code: 'custom', path: ['conclusion'], message })
    }
    if (at !== undefined && at !== 'completed' && conclusion !== undefined) {
      const message = 'must be completed, or left out, when there is a conclusion'
      context.addIssue({ code: 'custom', path: ['status'], message })
    }
  })

const label = z.strictObject({
  label: name(50).refine(isLabelName, 'must be a name other than . and ..').describe('Its name.'),
  present: z.boolean().optional().describe('False takes it off; true when not given.'),
})

export const lineComment = z
  .strictObject({
    path: line(4096).describe('The file, from the top of the repository.'),
    line: lineNumber.meta({ examples: [12], description: 'The line, or the last of several.' }),
    side: z.enum(['LEFT', 'RIGHT']).optional().describe('`RIGHT`, the new text, when not given.'),
    start_line: lineNumber
      .optional()
      .meta({ examples: [10], description: 'The first of several lines.' }),
    body: someMarkdown,
  })
  .superRefine(({ line: last, start_line: first }, context) => {
    if (first === undefined || first < last) return
    const message = 'must be before line; leave it out for a single line'
    context.addIssue({ code: 'custom', path: ['start_line'], message })
  })

const review = z.strictObject({
  body: markdown,
  event: z
    .enum(['COMMENT', 'APPROVE', 'REQUEST_CHANGES'])
    .optional()
    .describe('`COMMENT` when not given.'),
  comments: z
    .array(lineComment)
    .max(lineCommentsMax, `must be at most ${lineCommentsMax} comments`)
    .optional()
    .describe('Comments on lines of the change.'),
})

/** By channel: the fields of its content, to be put beside those of the request. */
export const givenContents = {
  'github-comment': comment,
  'github-status': status,
  'github-check': check,
  'github-label': label,
  'github-review': review,
} as const satisfies Record<ChannelName, z.ZodType>

export type GivenContent<C extends ChannelName> = z.infer<(typeof givenContents)[C]>

/** By channel: content that fits, as the store keeps it. */
export const toStored: {
  readonly [C in ChannelName]: (given: GivenContent<C>) => StoredContents[C]
} = {
  'github-comment': ({ body }) => ({ form: 'text', body }),
  'github-status': ({ context, state, description = '', target_url = null }) => ({
    context,
    state,
    description,
    targetUrl: target_url,
  }),
  'github-check': ({ name, status, conclusion = null, title = '', summary = '', details_url }) => ({
    name,
    status: status ?? (conclusion === null ? 'in_progress' : 'completed'),
    conclusion,
    title,
    summary,
    detailsUrl: details_url ?? null,
    startedAt: null,
    completedAt: null,
  }),
  'github-label': ({ label, present = true }) => ({ label, present }),
  'github-review': ({ body, event = 'COMMENT', comments = [] }) => ({
    body,
    event,
    commitSha: null,
    comments: comments.map(({ path, line, side = null, start_line = null, body }) => ({
      path,
      line,
      side,
      startLine: start_line,
      body,
    })),
  }),
}

interface StoredContents {
  readonly 'github-comment': CommentContent
  readonly 'github-status': StatusContent
  readonly 'github-check': CheckContent
  readonly 'github-label': LabelContent
  readonly 'github-review': ReviewContent
}

/** Throws InvalidInputError `invalid_content` that names the first invalid field. */
export function parseContent<C extends ChannelName>(channel: C, given: unknown): StoredContents[C] {
  const form: z.ZodType = givenContents[channel]
  const read = form.safeParse(given)
  if (read.success) return toStored[channel](read.data as GivenContent<C>)
  const [found] = findingsOf(form, read.error.issues, given)
  const field = found?.path.map(String).join('.') ?? ''
  const name = field === '' ? 'content' : field
  throw new InvalidInputError('invalid_content', name, `${name} ${found?.message ?? 'is wrong'}`)
}
