/**
 * Finds the lines of a Markdown text that are code between fences. A line counts as code only if
 * every Markdown parser reads it as code.
 *
 * Parsers can read one line in two ways. For example, a line that is indented by two spaces may
 * belong to the list above it or not. So the text is rewritten until all parsers read it alike:
 *
 *   - A block ends with a fence of the same length and indent as its first.
 *   - A fence inside a block that some parser might read as its end becomes plain text.
 *   - A line with less indent than the block ends the block before that line.
 *   - A fence right after a list mark gets its own line.
 *   - A block that is still open at the end of the text is closed.
 *
 * A fence that is indented by four or more may be no fence at all. It is closed like the others,
 * but its lines do not count as code. A fence behind `>` ends with the first line without `>`.
 *
 * What must hold: the text has no raw HTML. Inside raw HTML, fences have no meaning.
 */
export const zeroWidth = '\u200b'

export interface Line {
  readonly text: string
  /** `fence` opens or ends a block; `code` is shown as it is written. */
  readonly kind: 'text' | 'fence' | 'code'
}

interface OpenBlock {
  readonly indent: number
  readonly fence: string
}

const opening = /^( *)(`{3,}(?=[^`]*$)|~{3,})/
const anyFence = /^( *)(`{3,}|~{3,})/
const afterMark = /^( *(?:(?:[-*+]|\d{1,9}[.)]) +)+)(`{3,}|~{3,})/
/** With more indent than this, parsers may disagree about a fence. */
const certainIndent = 3

/** Blanks other than space and tab, which Markdown reads as ordinary characters. */
const otherBlank = /[^\S \t]/

/** Whether Markdown reads the line as empty. A line of wide or unbreakable spaces is not empty. */
export function isBlank(line: string): boolean {
  return line.trim() === '' && !otherBlank.test(line)
}

export function linesWithCode(text: string): readonly Line[] {
  const lines: Line[] = []
  let open: OpenBlock | null = null
  for (const written of text.split('\n').flatMap(fenceOnOwnLine)) {
    const indent = indentOf(written)
    if (open !== null && !isBlank(written) && indent < open.indent) {
      lines.push(closingOf(open))
      open = null
    }
    if (open === null) {
      const found = opening.exec(written)
      open = found === null ? null : { indent, fence: found[2] ?? '' }
      lines.push({ text: written, kind: open === null ? 'text' : kindOf(open, 'fence') })
    } else if (closes(written, open)) {
      lines.push({ text: written.trimEnd(), kind: kindOf(open, 'fence') })
      open = null
    } else {
      lines.push({ text: withoutFence(written, open), kind: kindOf(open, 'code') })
    }
  }
  if (open !== null) lines.push(closingOf(open))
  return lines
}

function kindOf({ indent }: OpenBlock, kind: Line['kind']): Line['kind'] {
  return indent <= certainIndent ? kind : 'text'
}

function closingOf(open: OpenBlock): Line {
  return { text: ' '.repeat(open.indent) + open.fence, kind: kindOf(open, 'fence') }
}

function closes(line: string, { indent, fence }: OpenBlock): boolean {
  return indentOf(line) === indent && line.trim() === fence && !otherBlank.test(line)
}

/** A shorter fence, or one of the other kind, never ends the block and stays as it is. */
function withoutFence(line: string, { fence }: OpenBlock): string {
  const [, indent = '', run = ''] = anyFence.exec(line) ?? []
  return run.startsWith(fence) ? indent + zeroWidth + line.slice(indent.length) : line
}

function fenceOnOwnLine(line: string): string[] {
  const spaced = withoutTabs(line)
  const [, mark] = afterMark.exec(spaced) ?? []
  if (mark === undefined) return [anyFence.test(spaced) ? spaced : line]
  return [mark.trimEnd(), ' '.repeat(mark.length) + spaced.slice(mark.length)]
}

/** Replaces each tab before the first word by the spaces up to its column. */
function withoutTabs(line: string): string {
  let spaced = ''
  for (const character of /^[\s\d>*+.)-]*/.exec(line)?.[0] ?? '') {
    spaced += character === '\t' ? ' '.repeat(4 - (spaced.length % 4)) : character
  }
  return spaced + line.replace(/^[\s\d>*+.)-]*/, '')
}

function indentOf(line: string): number {
  return /^ */.exec(withoutTabs(line))?.[0].length ?? 0
}
