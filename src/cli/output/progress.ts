/** How far something is, on one line of standard error that goes away; only where it is watched. */
import type { Terminal } from '../terminal.ts'

export interface Progress {
  show(text: string): void
  end(): void
}

const clearLine = '\r\x1b[2K'

export function progressOn({ watched, err }: Pick<Terminal, 'watched' | 'err'>): Progress {
  let shown = ''
  return {
    show(text) {
      if (!watched || text === shown) return
      shown = text
      err(`${clearLine}${text}`)
    },
    end() {
      if (shown !== '') err(clearLine)
      shown = ''
    },
  }
}
