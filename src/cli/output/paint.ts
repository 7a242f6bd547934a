/** Colours for a terminal, from the sixteen basic ones, which every terminal theme defines. */

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

export type Style = keyof typeof codes
export type Paint = (text: string, style: Style | null) => string

export function paintFor(colour: boolean): Paint {
  return (text, style) => {
    if (!colour || style === null || text === '') return text
    const [on, off] = codes[style]
    return `\x1b[${on}m${text}\x1b[${off}m`
  }
}

const styleOfState: Readonly<Record<string, Style>> = {
  pending: 'cyan',
  running: 'cyan',
  waiting: 'yellow',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'yellow',
  skipped: 'dim',
  superseded: 'dim',
  // Of inbox entries.
  accepted: 'cyan',
  processed: 'green',
  duplicate: 'dim',
  ignored: 'dim',
}

export function stateStyle(state: string): Style | null {
  return styleOfState[state] ?? null
}
