/**
 * What people see on GitHub of a delivery, drawn for a terminal. Text from outside goes through the
 * same functions as when it is published, so that a secret that is hidden there is hidden here.
 */
import { checkContent } from '../../channels/github-check.ts'
import { commentContent } from '../../channels/github-comment.ts'
import { labelContent } from '../../channels/github-label.ts'
import { reviewContent } from '../../channels/github-review.ts'
import { descriptionMax, statusContent } from '../../channels/github-status.ts'
import { plainLine } from '../../channels/parts.ts'
import { renderAnchor } from '../../channels/render-anchor.ts'
import { safeText } from '../../channels/text/safe-text.ts'
import type { DeliveryWithAttemptsView } from '../../contract.ts'
import { markdownLines } from '../output/markdown.ts'
import type { Paint, Style } from '../output/paint.ts'
import { printable, printableLines } from '../output/printable.ts'
import { wrap } from '../output/text-width.ts'

const lineMax = 255

interface Page {
  readonly width: number
  readonly paint: Paint
}

type Preview = (content: unknown, page: Page) => readonly string[]

/** By channel. For any other channel the content is shown as JSON. */
const previews: Readonly<Record<string, Preview>> = {
  'github-comment': (given, page) => {
    const content = commentContent.parse(given)
    return markdown(
      content.form === 'anchor' ? renderAnchor(content.view) : safeText(content.body),
      page,
    )
  },
  'github-status': (given, page) => {
    const { state, context, description, targetUrl } = statusContent.parse(given)
    return [
      stateLine(state, context, page),
      ...line(plainLine(description, descriptionMax), page),
      ...line(targetUrl, page),
    ]
  },
  'github-check': (given, page) => {
    const { name, status, conclusion, title, summary, detailsUrl } = checkContent.parse(given)
    return [
      stateLine(conclusion ?? status, name, page),
      ...line(plainLine(title, lineMax), page, 'bold'),
      ...line(detailsUrl, page),
      ...spaced(markdown(safeText(summary), page)),
    ]
  },
  'github-label': (given, page) => {
    const { label, present } = labelContent.parse(given)
    return line(present ? `Label "${label}" is set.` : `Label "${label}" is removed.`, page)
  },
  'github-review': (given, page) => {
    const { body, event, comments } = reviewContent.parse(given)
    return [
      ...line(reviewWords[event], page, 'bold'),
      ...spaced(markdown(safeText(body), page)),
      ...comments.flatMap((comment) => [
        '',
        ...line(placeOf(comment), page, 'bold'),
        ...markdown(safeText(comment.body), page),
      ]),
    ]
  },
}

const reviewWords = {
  COMMENT: 'Review: comments only',
  APPROVE: 'Review: approves the change',
  REQUEST_CHANGES: 'Review: requests changes',
} as const

export function previewLines(
  { channel, content }: Pick<DeliveryWithAttemptsView, 'channel' | 'content'>,
  page: Page,
): readonly string[] {
  const preview = Object.hasOwn(previews, channel) ? previews[channel] : undefined
  try {
    if (preview !== undefined) return preview(content, page)
  } catch {
    // Another version of Holdfast may have stored the content. Then it is shown as JSON.
  }
  return printableLines(JSON.stringify(content, null, 2))
}

const markdown = (text: string, { width, paint }: Page): readonly string[] =>
  markdownLines(text, width, paint)

const spaced = (lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', ...lines]

function line(text: string | null, { width, paint }: Page, style: Style | null = null) {
  if (text === null || text === '') return []
  return wrap(printable(text), width).map((part) => paint(part, style))
}

const styleOfResult: Readonly<Record<string, Style>> = {
  success: 'green',
  failure: 'red',
  error: 'red',
  timed_out: 'red',
  pending: 'yellow',
  in_progress: 'yellow',
}

const stateLine = (state: string, name: string, { paint }: Page): string =>
  `${paint(state, styleOfResult[state] ?? null)}  ${paint(printable(name), 'bold')}`

interface Place {
  readonly path: string
  readonly line: number
  readonly startLine: number | null
  readonly side: 'LEFT' | 'RIGHT' | null
}

/** `src/main.ts, lines 10 to 14 of the old text` */
function placeOf({ path, line: last, startLine, side }: Place): string {
  const lines = startLine === null ? `line ${last}` : `lines ${startLine} to ${last}`
  return `${path}, ${lines}${side === 'LEFT' ? ' of the old text' : ''}`
}
