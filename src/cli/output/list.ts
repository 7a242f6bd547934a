/**
 * Prints a list page by page. So the first page of a long list is printed at once, and the whole
 * list need not fit in memory.
 */
import type { Terminal } from '../terminal.ts'
import type { Listed } from '../operations/operations.ts'
import { printJson } from './json.ts'
import { printNote } from './fit-text.ts'
import { tablePrinter, type TableShape } from './table.ts'

export interface ListRequest<T> {
  readonly terminal: Terminal
  readonly nowMs: number
  readonly json: boolean
  /** Print all pages, not only one. */
  readonly all: boolean
  readonly cursor: string | undefined
  readonly shape: TableShape<T>
  /** For the message "No runs.": `runs`. */
  readonly noun: string
  /** Follows the message that nothing was found. Asked for only then. */
  readonly suggestion?: () => Promise<string>
  readonly pageAt: (cursor: string | undefined) => Promise<Listed<T>>
}

export async function printList<T>(request: ListRequest<T>): Promise<void> {
  const { terminal, json, shape, noun, nowMs } = request
  if (json) {
    await printListAsJson(request)
    return
  }
  const table = tablePrinter(terminal, shape, nowMs)
  let count = 0
  let next: string | null = null
  for await (const page of pagesOf(request)) {
    table.print(page.items)
    count += page.items.length
    next = page.next_cursor
  }
  if (count === 0) {
    const suggestion = (await request.suggestion?.()) ?? ''
    printNote(terminal, `${[`No ${noun}.`, suggestion].filter(Boolean).join(' ')}\n`)
  }
  if (next !== null) printNote(terminal, `There are more: add --all, or --cursor ${next}\n`)
}

async function printListAsJson<T>(request: ListRequest<T>): Promise<void> {
  const { terminal } = request
  if (terminal.columns !== null || !request.all) {
    const items: T[] = []
    let next: string | null = null
    for await (const page of pagesOf(request)) {
      items.push(...page.items)
      next = page.next_cursor
    }
    printJson(terminal, { items, next_cursor: next })
    return
  }
  terminal.out('{"items":[')
  let hasItems = false
  for await (const { items } of pagesOf(request)) {
    const text = items.map((item) => JSON.stringify(item)).join(',')
    if (text === '') continue
    terminal.out(hasItems ? `,${text}` : text)
    hasItems = true
  }
  terminal.out('],"next_cursor":null}\n')
}

async function* pagesOf<T>(request: ListRequest<T>): AsyncGenerator<Listed<T>> {
  let cursor = request.cursor
  for (;;) {
    const page = await request.pageAt(cursor)
    yield page
    if (!request.all || page.next_cursor === null || request.terminal.gone.aborted) return
    cursor = page.next_cursor
  }
}
