/**
 * Markdown as its reader sees it: escapes and entities are replaced by their characters, and
 * invisible characters are removed.
 *
 * What must hold: for every shown character its place in the written text is known, so that what is
 * found in the shown text can be removed from the written one. The time grows with the length of
 * the text.
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
/** Mathematical letters, which look like ordinary ones: `&gopf;`, `&gfr;`, `&gscr;`. */
const letterName = /^([A-Za-z])(?:opf|fr|scr)$/

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

function nameTable(text: string): ReadonlyMap<string, string> {
  const all = words(text)
  return new Map(all.flatMap((name, at) => (at % 2 === 0 ? [[name, all[at + 1] ?? '']] : [])))
}

export const punctuation = '[!-/:-@[-`{-~]'
/** Longer than CommonMark allows, because some readers accept longer ones. */
export const entity = '&(?:#[0-9]{1,20}|#[xX][0-9A-Fa-f]{1,20}|[A-Za-z][A-Za-z0-9]{1,24});'

/** The character of an entity, or null if it is unknown. */
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
/** Full-width characters and mathematical letters. */
const lookalikes = '\uff01-\uff5e\u{1d400}-\u{1d7ff}'
const isLookalike = new RegExp(`^[${lookalikes}]$`, 'u')

function shownCharacter(character: string): string {
  if (unseen.test(character)) return ''
  if (blank.test(character)) return ' '
  return isLookalike.test(character) ? character.normalize('NFKC') : character
}

const notAsShown = [
  String.raw`\\${punctuation}`,
  entity,
  '%[2-7][0-9A-Fa-f]',
  String.raw`[${lookalikes}]|[^\S\n\t ]|\p{Default_Ignorable_Code_Point}`,
]
/** Marks for bold, struck-out and code text. */
const marks = ['[*`~]+', '</?(?:b|strong|i|em|code)>']
const withMarks = new RegExp(notAsShown.join('|'), 'gu')
const withoutMarks = new RegExp([...notAsShown, ...marks].join('|'), 'gu')

export interface ShownText {
  readonly text: string
  /** The place in the written text of what is shown from `start` to `end`. */
  readonly writtenAt: (start: number, end: number) => readonly [start: number, end: number]
}

/** `joined` removes the marks of bold, struck-out and code text. */
export function shownText(written: string, joined: boolean): ShownText {
  const unit = joined ? withoutMarks : withMarks
  let places: Places | null = null
  return {
    text: written.replaceAll(unit, (found) => readUnit(found)),
    writtenAt(start, end) {
      // Few texts contain a secret, so the places are computed only when they are needed.
      places ??= placesOf(written, unit)
      return [places.starts[start] ?? 0, places.ends[end - 1] ?? 0]
    },
  }
}

/** For each shown character: the start and the end of its written form. */
interface Places {
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

function placesOf(written: string, unit: RegExp): Places {
  // The shown text is never longer than the written one.
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
