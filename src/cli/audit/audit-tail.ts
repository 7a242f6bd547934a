/**
 * Follows the audit until the user interrupts it or nobody reads its output any more. Neither is a
 * failure.
 */
import { auditStyle, dataText } from './audit-table.ts'
import type { AuditView } from '../../contract.ts'
import type { FollowRequest, Operations } from '../operations/operations.ts'
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
  const removeHandler = world.onStopSignal(() => stop.abort())
  const signal = AbortSignal.any([stop.signal, terminal.gone])
  const print = json ? printAsJson(terminal) : linePrinter(terminal)
  try {
    for await (const event of operations.followAudit({ filter, last, signal })) print(event)
  } catch (error) {
    // After an interrupt, errors of the connection do not matter.
    if (!signal.aborted) throw error
  } finally {
    removeHandler()
  }
}

const indent = '  '
/** With fewer columns, too little of an event's data would be visible. */
const dataMin = 20

type Print = (event: AuditView) => void

function printAsJson(terminal: Terminal): Print {
  return (event) => terminal.out(`${JSON.stringify(event)}\n`)
}

/** If the output is not a terminal, the header and the lines are those of the list. */
function linePrinter(terminal: Terminal): Print {
  const { columns } = terminal
  if (columns !== null) return (event) => terminal.out(`${screenLine(event, terminal, columns)}\n`)
  const { plain } = auditTable
  terminal.out(`${plain.map(([name]) => name).join('\t')}\n`)
  return (event) => terminal.out(`${plain.map(([, of]) => plainText(of(event))).join('\t')}\n`)
}

/**
 * Shows the time of day: "3 s ago" would soon be wrong, because the line stays on the screen. Data
 * that does not fit on the line is on a second line.
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
