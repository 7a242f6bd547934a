/** Shows progress on one line of standard error, if that is a terminal. `end` removes the line. */
import type { Terminal } from '../terminal.ts'

export interface Progress {
  show(text: string): void
  end(): void
}

const clearLine = '\r\x1b[2K'

export function progressOn({ watched, err }: Pick<Terminal, 'watched' | 'err'>): Progress {
  let current = ''
  return {
    show(text) {
      if (!watched || text === current) return
      current = text
      err(`${clearLine}${text}`)
    },
    end() {
      if (current !== '') err(clearLine)
      current = ''
    },
  }
}
