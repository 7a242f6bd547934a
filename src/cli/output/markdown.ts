/**
 * Markdown for a terminal: a preview of what people see on GitHub. Headings, lists, code and tables
 * can be recognised. An image or a fold is shown by its name, and HTML tags are left out. `marked`
 * parses the text. The lines are made here, so that no word is broken. Any text can be shown: what
 * is too deep for the width, or for marked, is shown as it was written.
 */
import type { Token, Tokens } from 'marked'
import { markdownTokens } from './markdown-tokens.ts'
import type { Paint, Style } from './paint.ts'
import { printable, printableLines } from './printable.ts'
import { padTo, textWidth, wrapPieces } from './text-width.ts'

interface Span {
  readonly text: string
  readonly style: Style | null
}

/** In fewer columns a quotation or a list is not readable. */
const innerWidthMin = 10

export function markdownLines(markdown: string, width: number, paint: Paint): readonly string[] {
  return blocks(markdownTokens(withoutInvisible(markdown)), width, paint)
}

/** Removes the characters that only keep words, such as a mention, from acting on GitHub. */
const withoutInvisible = (text: string): string => text.replaceAll('\u200b', '')

/** One empty line between two blocks. */
function blocks(tokens: readonly Token[], width: number, paint: Paint): readonly string[] {
  const visible = tokens
    .map((token) => block(token, width, paint))
    .filter((lines) => lines.some((line) => line.trim() !== ''))
  return visible.flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]))
}

function block(token: Token, width: number, paint: Paint): readonly string[] {
  switch (token.type) {
    case 'space':
    case 'def':
      return []
    case 'heading':
      return fillLines(spansOf((token as Tokens.Heading).tokens, 'bold'), width, paint)
    case 'code':
      return (token as Tokens.Code).text
        .split('\n')
        .map((line) => paint(`  ${printable(line.replaceAll('\t', '  '))}`, 'cyan'))
    case 'blockquote':
      return quotation(token as Tokens.Blockquote, width, paint)
    case 'list':
      return list(token as Tokens.List, width, paint)
    case 'table':
      return table(token as Tokens.Table, width, paint)
    case 'hr':
      return ['─'.repeat(Math.max(1, Math.min(width, 20)))]
    case 'plain':
      return asWritten(token.raw, width, paint)
    case 'html':
      return fillLines([{ text: htmlText(token.raw), style: null }], width, paint)
    default: {
      const inline = 'tokens' in token ? token.tokens : undefined
      return fillLines(spansOf(inline ?? [token], null), width, paint)
    }
  }
}

/** The text itself, in lines of at most `width` columns. */
const asWritten = (text: string, width: number, paint: Paint): readonly string[] =>
  fillLines([{ text: writtenText(text), style: null }], width, paint)

const writtenText = (text: string): string => printableLines(text).join('\n')

function quotation({ raw, tokens }: Tokens.Blockquote, width: number, paint: Paint) {
  if (width - 2 < innerWidthMin) return asWritten(raw, width, paint)
  return indentLines(blocks(tokens, width - 2, paint), '> ', '> ')
}

const indentLines = (lines: readonly string[], first: string, others: string): readonly string[] =>
  lines.map((line, at) => `${at === 0 ? first : others}${line}`.trimEnd())

function list({ items, ordered, start }: Tokens.List, width: number, paint: Paint) {
  return items.flatMap((item, at) => {
    const number = ordered ? `${Number(start) + at}. ` : '- '
    const box = item.task ? (item.checked === true ? '[x] ' : '[ ] ') : ''
    const left = `${number}${box}`
    if (width - left.length < innerWidthMin) return asWritten(item.raw.trimEnd(), width, paint)
    // The box is also a separate token.
    const inside = item.tokens.filter(({ type }) => type !== 'checkbox')
    const lines = item.loose
      ? blocks(inside, width - left.length, paint)
      : inside.flatMap((token) => block(token, width - left.length, paint))
    return indentLines(lines.length === 0 ? [''] : lines, left, ' '.repeat(left.length))
  })
}

/** Columns if they fit; otherwise a block for each row, with the titles before the values. */
function table({ header, rows }: Tokens.Table, width: number, paint: Paint): readonly string[] {
  const text = ({ tokens }: Tokens.TableCell): string =>
    spansOf(tokens, null)
      .map((span) => span.text)
      .join('')
      .replaceAll(/\s+/g, ' ')
  const titles = header.map(text)
  const cells = rows.map((row) => row.map(text))
  const widths = titles.map((title, at) =>
    Math.max(textWidth(title), ...cells.map((row) => textWidth(row[at] ?? ''))),
  )
  const needed = widths.reduce((sum, one) => sum + one + 2, -2)
  if (needed <= width) {
    const line = (row: readonly string[]): string =>
      row
        .map((cell, at) => padTo(cell, widths[at] ?? 0))
        .join('  ')
        .trimEnd()
    return [paint(line(titles), 'bold'), ...cells.map(line)]
  }
  return cells.flatMap((row, at) => [
    ...(at === 0 ? [] : ['']),
    ...row.flatMap((cell, column) =>
      fillLines([{ text: `${titles[column] ?? ''}: ${cell}`, style: null }], width, paint),
    ),
  ])
}

function spansOf(tokens: readonly Token[], style: Style | null): readonly Span[] {
  return tokens.flatMap((token) => inline(token, style))
}

function inline(token: Token, style: Style | null): readonly Span[] {
  const inside = 'tokens' in token ? (token.tokens ?? null) : null
  switch (token.type) {
    case 'strong':
      return spansOf(inside ?? [], 'bold')
    case 'codespan':
      return [{ text: printable((token as Tokens.Codespan).text), style: 'cyan' }]
    case 'br':
      return [{ text: '\n', style }]
    case 'link':
      return link(token as Tokens.Link, style)
    case 'image': {
      const { text, href } = token as Tokens.Image
      return [{ text: printable(`[image: ${text === '' ? href : text}]`), style }]
    }
    case 'html':
      return [{ text: htmlText(token.raw), style }]
    case 'plain':
      return [{ text: writtenText(token.raw), style }]
    default:
      if (inside !== null) return spansOf(inside, style)
      return [{ text: plain('text' in token ? String(token.text) : token.raw), style }]
  }
}

function link({ tokens, href, text }: Tokens.Link, style: Style | null): readonly Span[] {
  const spans = spansOf(tokens, style)
  if (text === href || `mailto:${text}` === href) return spans
  return [...spans, { text: ` (${printable(href)})`, style: 'dim' }]
}

/** What people see of HTML: the summary of a fold, and the text between tags. */
function htmlText(raw: string): string {
  let text = ''
  let at = 0
  for (const { start, after } of tagsIn(raw)) {
    const tag = raw.slice(start, after)
    text += raw.slice(at, start)
    if (/^<summary\b/i.test(tag)) text += '▸ '
    else if (/^<br\s*\/?>$/i.test(tag)) text += '\n'
    at = after
  }
  return plain(text + raw.slice(at))
}

/**
 * Where tags and comments start and end. Each character is read a fixed number of times: a regular
 * expression would look for the end of every `<` up to the end of the text.
 */
function* tagsIn(raw: string): Generator<{ readonly start: number; readonly after: number }> {
  const lastCommentEnd = raw.lastIndexOf('-->')
  for (let start = raw.indexOf('<'); start !== -1;) {
    const isComment = raw.startsWith('<!--', start) && lastCommentEnd >= start + 4
    const end = isComment ? raw.indexOf('-->', start + 4) + 2 : raw.indexOf('>', start)
    if (end === -1) return
    yield { start, after: end + 1 }
    start = raw.indexOf('<', end)
  }
}

const namedEntities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

/** Replaces entities and makes the text safe to print. Line breaks stay: `fillLines` needs them. */
function plain(text: string): string {
  const decoded = text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi, decode)
  return decoded.split('\n').map(printable).join('\n')
}

function decode(entity: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return namedEntities[name.toLowerCase()] ?? entity
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
  return code <= 0x10ffff ? String.fromCodePoint(code) : entity
}

/** Puts the words on lines of at most `width` columns. Line breaks stay, as on GitHub. */
function fillLines(spans: readonly Span[], width: number, paint: Paint): readonly string[] {
  return linesOf(spans).flatMap((line) =>
    wrapPieces(line, width).map((pieces) =>
      pieces.map(({ text, style }) => paint(text, style)).join(''),
    ),
  )
}

function linesOf(spans: readonly Span[]): readonly (readonly Span[])[] {
  const lines: Span[][] = [[]]
  for (const { text, style } of spans) {
    text.split('\n').forEach((part, at) => {
      if (at > 0) lines.push([])
      lines.at(-1)?.push({ text: part, style })
    })
  }
  return lines
}
