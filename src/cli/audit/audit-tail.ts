/**
 * Follows the audit until somebody has seen enough: an interrupt, or a reader that has gone, is an
 * end and no failure.
 */
import { auditStyle, dataText } from './audit-table.ts'
import type { AuditView, FollowRequest, Operations } from '../operations/operations.ts'
import { paintFor } from '../output/paint.ts'
import { printable } from '../output/printable.ts'
import { plainText } from '../output/table.ts'
import { cutEnd, padTo, textWidth } from '../output/text-width.ts'
import { auditTable } from './audit-table.ts'
import type { Terminal } from '../terminal.ts'
import type { World } from '../world.ts'

export interface TailRequest extends Pick<FollowRequest, 'filter' | 'last'> {
  readonly json: boolean
}

export async function tailAudit(
  world: World,
  operations: Operations,
  { filter, last, json }: TailRequest,
): Promise<void> {
  const { terminal } = world
  const stop = new AbortController()
  const forget = world.onStopSignal(() => stop.abort())
  const signal = AbortSignal.any([stop.signal, terminal.gone])
  const print = json ? printAsJson(terminal) : linePrinter(terminal)
  try {
    for await (const event of operations.followAudit({ filter, last, signal })) print(event)
  } catch (error) {
    // Whatever an interrupted connection says is no news.
    if (!signal.aborted) throw error
  } finally {
    forget()
  }
}

const indent = '  '
/** Fewer columns say too little of what more there is to an event. */
const dataMin = 20

type Print = (event: AuditView) => void

function printAsJson(terminal: Terminal): Print {
  return (event) => terminal.out(`${JSON.stringify(event)}\n`)
}

/** Elsewhere than on a terminal the same lines as a list has, under the same header. */
function linePrinter(terminal: Terminal): Print {
  const { columns } = terminal
  if (columns !== null) return (event) => terminal.out(`${screenLine(event, terminal, columns)}\n`)
  const { plain } = auditTable
  terminal.out(`${plain.map(([name]) => name).join('\t')}\n`)
  return (event) => terminal.out(`${plain.map(([, of]) => plainText(of(event))).join('\t')}\n`)
}

/**
 * The time itself: how long ago it was would soon be wrong on a line that stays. What does not fit
 * beside it goes on a second line.
 */
function screenLine(event: AuditView, { colour }: Terminal, columns: number): string {
  const paint = paintFor(colour)
  const { run_id: run, delivery_id: delivery } = event
  const time = event.at.slice(11, 19)
  const type = padTo(printable(event.type), 18)
  const left = `${paint(time, 'dim')}  ${paint(type, auditStyle(event))}`
  const used = textWidth(`${time}  ${type}  `)
  const about = run ?? delivery ?? ''
  const data = printable(`${event.actor} ${dataText(event.data)}`)
  const beside = about === '' ? data : `${about}  ${data}`
  const isTight = columns - used < textWidth(about) + dataMin
  const room = isTight ? columns - indent.length : columns - used
  const right = paint(cutEnd(beside, Math.max(dataMin, room)), 'dim')
  return (isTight ? `${left.trimEnd()}\n${indent}${right}` : `${left}  ${right}`).trimEnd()
}
