/** JSON on standard output: one document, on one line unless a person looks at it. */
import type { Terminal } from '../terminal.ts'

export function printJson(terminal: Terminal, value: unknown): void {
  const indent = terminal.columns === null ? undefined : 2
  terminal.out(`${JSON.stringify(value, null, indent)}\n`)
}
