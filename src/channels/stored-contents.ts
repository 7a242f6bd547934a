/** The forms of content as the store keeps them: what a channel is handed, it checks with these. */
import { z } from 'zod'
import { checkConclusions } from '../channel.ts'
import type {
  CheckContent,
  CommentContent,
  LabelContent,
  ReviewContent,
  StatusContent,
} from '../channel.ts'
import type { AnchorView } from '../domain/outbox/anchor-view.ts'
import { locales } from '../domain/outbox/anchor-view.ts'
import { runStates, verdicts } from '../domain/run.ts'

const text = z.string().nullable()
const time = z.number()

const anchorView: z.ZodType<AnchorView> = z.object({
  locale: z.enum(locales),
  type: z.string(),
  runId: z.string(),
  state: z.enum(runStates),
  verdict: z.enum(verdicts).nullable(),
  round: z.number(),
  attempt: z.number(),
  headSha: text,
  baseSha: text,
  createdAt: time,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  summary: text,
  errorCode: text,
  errorText: text,
  targetUrl: text,
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
      headSha: text,
      state: z.enum(runStates),
      at: time,
      resultPair: z.string().optional(),
    }),
  ),
  pastMore: z.number(),
})

export const commentContent: z.ZodType<CommentContent> = z.discriminatedUnion('form', [
  z.object({ form: z.literal('anchor'), view: anchorView }),
  z.object({ form: z.literal('text'), body: z.string() }),
])

export const statusContent: z.ZodType<StatusContent> = z.object({
  context: z.string().min(1),
  state: z.enum(['pending', 'success', 'failure', 'error']),
  description: z.string(),
  targetUrl: text,
})

export const checkContent: z.ZodType<CheckContent> = z.object({
  name: z.string().min(1),
  status: z.enum(['queued', 'in_progress', 'completed']),
  conclusion: z.enum(checkConclusions).nullable(),
  title: z.string(),
  summary: z.string(),
  detailsUrl: text,
  startedAt: time.nullable(),
  completedAt: time.nullable(),
})

/** As a part of a path these two are no names, however they are written. */
export const isLabelName = (label: string): boolean => !/^\.{1,2}$/.test(label.trim())

export const labelContent: z.ZodType<LabelContent> = z.object({
  label: z.string().min(1).refine(isLabelName, 'is no name that a label can have'),
  present: z.boolean(),
})

export const reviewContent: z.ZodType<ReviewContent> = z.object({
  body: z.string(),
  event: z.enum(['COMMENT', 'APPROVE', 'REQUEST_CHANGES']),
  commitSha: text,
  comments: z.array(
    z.object({
      path: z.string(),
      body: z.string(),
      line: z.number(),
      side: z.enum(['LEFT', 'RIGHT']).nullable(),
      startLine: z.number().nullable(),
    }),
  ),
})
