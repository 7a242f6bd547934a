/**
 * Markdown as its reader will see it: escapes and entities as the characters they stand for, and
 * without what is not seen.
 *
 * What must hold: every character that is shown knows where it was written, so that what is found
 * in the shown text can be cut out of the written one. The time taken grows with the text.
 */

/** The names that HTML has for ASCII characters and for the space. */
const asciiNames = nameTable(`
  excl ! quot " QUOT " num # dollar $ percnt % amp & AMP & apos ' lpar ( rpar ) ast * midast *
  plus + comma , period . sol / colon : semi ; lt < LT < equals = gt > GT > quest ? commat @
  lsqb [ lbrack [ bsol \\ rsqb ] rbrack ] Hat ^ lowbar _ UnderBar _ grave \` DiacriticalGrave \`
  lcub { lbrace { verbar | vert | VerticalLine | rcub } rbrace } fjlig fj
`)
const blankNames = new Set(
  words(`nbsp NonBreakingSpace ensp emsp emsp13 emsp14 numsp puncsp thinsp ThinSpace hairsp
    VeryThinSpace MediumSpace ThickSpace`),
)
const unseenNames = new Set(
  words(`shy zwnj zwj lrm rlm ZeroWidthSpace NegativeVeryThinSpace NegativeThinSpace
    NegativeMediumSpace NegativeThickSpace NoBreak ApplyFunction af InvisibleTimes it
    InvisibleComma ic`),
)
/** Letters of mathematics, which look like others: `&gopf;`, `&gfr;`, `&gscr;`. */
const letterName = /^([A-Za-z])(?:opf|fr|scr)$/

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

function nameTable(text: string): ReadonlyMap<string, string> {
  const all = words(text)
  return new Map(all.flatMap((name, at) => (at % 2 === 0 ? [[name, all[at + 1] ?? '']] : [])))
}

export const punctuation = '[!-/:-@[-`{-~]'
/** Longer than CommonMark takes them, because some readers do. */
export const entity = '&(?:#[0-9]{1,20}|#[xX][0-9A-Fa-f]{1,20}|[A-Za-z][A-Za-z0-9]{1,24});'

/** What an entity stands for; null where that is not known. */
export function entityText(written: string): string | null {
  const name = written.slice(1, -1)
  if (name.startsWith('#')) return numbered(name.slice(1))
  if (name === 'Tab') return '\t'
  if (name === 'NewLine') return '\n'
  if (blankNames.has(name)) return ' '
  if (unseenNames.has(name)) return ''
  return asciiNames.get(name) ?? letterName.exec(name)?.[1] ?? null
}

function numbered(digits: string): string {
  const code = Number(digits.replace(/^[xX]/, '0x'))
  return code > 0 && code <= 0x10_ff_ff ? shownCharacter(String.fromCodePoint(code)) : '\ufffd'
}

const unseen = /^\p{Default_Ignorable_Code_Point}$/u
const blank = /^[^\S\n\t]$/
/** Wide forms, and the alphabets of mathematics. */
const alike = '\uff01-\uff5e\u{1d400}-\u{1d7ff}'
const isAlike = new RegExp(`^[${alike}]$`, 'u')

function shownCharacter(character: string): string {
  if (unseen.test(character)) return ''
  if (blank.test(character)) return ' '
  return isAlike.test(character) ? character.normalize('NFKC') : character
}

const notAsShown = [
  String.raw`\\${punctuation}`,
  entity,
  '%[2-7][0-9A-Fa-f]',
  String.raw`[${alike}]|[^\S\n\t ]|\p{Default_Ignorable_Code_Point}`,
]
/** Marks of Markdown that make what is between them bold, struck out or code. */
const marks = ['[*`~]+', '</?(?:b|strong|i|em|code)>']
const withMarks = new RegExp(notAsShown.join('|'), 'gu')
const withoutMarks = new RegExp([...notAsShown, ...marks].join('|'), 'gu')

export interface ShownText {
  readonly text: string
  /** Where what is shown from `start` up to `end` was written. */
  readonly writtenAt: (start: number, end: number) => readonly [start: number, end: number]
}

/** `joined`: across the marks of bold text, text that is struck out, and code. */
export function shownText(written: string, joined: boolean): ShownText {
  const unit = joined ? withoutMarks : withMarks
  let places: Places | null = null
  return {
    text: written.replaceAll(unit, (found) => readUnit(found)),
    writtenAt(start, end) {
      // Hardly a text has a secret: where it was written is worked out when it is asked for.
      places ??= placesOf(written, unit)
      return [places.starts[start] ?? 0, places.ends[end - 1] ?? 0]
    },
  }
}

/** By each character that is shown: from where to where it was written. */
interface Places {
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

function placesOf(written: string, unit: RegExp): Places {
  // What is shown is never longer than what was written.
  const starts = new Uint32Array(written.length)
  const ends = new Uint32Array(written.length)
  let shown = 0
  let done = 0
  const addPlain = (upTo: number): void => {
    for (; done < upTo; done += 1, shown += 1) {
      starts[shown] = done
      ends[shown] = done + 1
    }
  }
  for (const found of written.matchAll(unit)) {
    addPlain(found.index)
    done = found.index + found[0].length
    const shownTo = shown + readUnit(found[0]).length
    starts.fill(found.index, shown, shownTo)
    ends.fill(done, shown, shownTo)
    shown = shownTo
  }
  addPlain(written.length)
  return { starts, ends }
}

function readUnit(unit: string): string {
  if (unit.startsWith('\\')) return unit.slice(1)
  if (unit.startsWith('&')) return entityText(unit) ?? unit
  if (unit.startsWith('%')) return String.fromCharCode(Number.parseInt(unit.slice(1), 16))
  return /^[*`~<]/.test(unit) ? '' : shownCharacter(unit)
}
