/**
 * Which lines of a Markdown text are code between fences, told only where all readings of it agree.
 *
 * One line can be read in two ways: indented by two it belongs to the list above it, or to nothing.
 * So the text is rewritten where readings would differ, and what comes out has one reading:
 *
 *   - a block ends with a fence as long as its first and indented as much;
 *   - a fence in it that some reader might take for its end is made plain text, and a line with
 *     less indent ends it first;
 *   - a fence right after a list's mark gets a line of its own;
 *   - what is still open at the end is closed.
 *
 * A fence indented by four or more may be no fence at all: it is kept in step, but its lines do not
 * count as code. One behind `>` ends by itself with the first line that has none.
 *
 * What must hold: there is no raw HTML in the text, in which fences would mean nothing.
 */
export const zeroWidth = '\u200b'

export interface Line {
  readonly text: string
  /** `fence` opens or ends a block; `code` is shown as it is written. */
  readonly kind: 'text' | 'fence' | 'code'
}

interface Open {
  readonly indent: number
  readonly fence: string
}

const opening = /^( *)(`{3,}(?=[^`]*$)|~{3,})/
const anyFence = /^( *)(`{3,}|~{3,})/
const afterMark = /^( *(?:(?:[-*+]|\d{1,9}[.)]) +)+)(`{3,}|~{3,})/
/** Indented by more than this it may be read as anything. */
const certainIndent = 3

/** For Markdown these are characters like any other. */
const otherBlank = /[^\S \t]/

/** As Markdown sees it: a line of wide or unbreakable spaces is not empty. */
export function isBlank(line: string): boolean {
  return line.trim() === '' && !otherBlank.test(line)
}

export function linesWithCode(text: string): readonly Line[] {
  const lines: Line[] = []
  let open: Open | null = null
  for (const written of text.split('\n').flatMap(ownLine)) {
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
      lines.push({ text: blunt(written, open), kind: kindOf(open, 'code') })
    }
  }
  if (open !== null) lines.push(closingOf(open))
  return lines
}

function kindOf({ indent }: Open, kind: Line['kind']): Line['kind'] {
  return indent <= certainIndent ? kind : 'text'
}

function closingOf(open: Open): Line {
  return { text: ' '.repeat(open.indent) + open.fence, kind: kindOf(open, 'fence') }
}

function closes(line: string, { indent, fence }: Open): boolean {
  return indentOf(line) === indent && line.trim() === fence && !otherBlank.test(line)
}

/** A shorter one, or one of the other kind, ends the block for nobody. */
function blunt(line: string, { fence }: Open): string {
  const [, indent = '', run = ''] = anyFence.exec(line) ?? []
  return run.startsWith(fence) ? indent + zeroWidth + line.slice(indent.length) : line
}

function ownLine(line: string): string[] {
  const spaced = withoutTabs(line)
  const [, mark] = afterMark.exec(spaced) ?? []
  if (mark === undefined) return [anyFence.test(spaced) ? spaced : line]
  return [mark.trimEnd(), ' '.repeat(mark.length) + spaced.slice(mark.length)]
}

/** Tabs before the first word become the columns they stand for. */
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
