/** How audit events are shown: newest first in a list, oldest first as they happen. */
import type { AuditView } from '../../contract.ts'
import type { Style } from '../output/paint.ts'
import { printable } from '../output/printable.ts'
import type { TableShape } from '../output/table.ts'
import { relativeTime } from '../output/time-text.ts'

const styleOfEnding: readonly (readonly [RegExp, Style])[] = [
  [/\.(succeeded|processed|sent|confirmed)$/, 'green'],
  [/\.(failed|heartbeat_lost|lost)$/, 'red'],
  [/^operator\.|\.(cancelled|in_doubt|postponed)$/, 'yellow'],
  [/\.(superseded|skipped|claim_skipped|duplicate|ignored|purged)$/, 'dim'],
]

export function auditStyle({ type }: AuditView): Style | null {
  return styleOfEnding.find(([ending]) => ending.test(type))?.[1] ?? null
}

/** The data of an event as `name=value`. A text has quotes only if it needs them. */
export function dataText(data: AuditView['data']): string {
  return Object.entries(data)
    .filter(([, value]) => value !== null && value !== '' && !isEmptyList(value))
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(' ')
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"]+$/.test(value)) return printable(value)
  return JSON.stringify(value)
}

export const auditTable: TableShape<AuditView> = {
  screen: [
    { title: 'WHEN', of: ({ at }, now) => relativeTime(at, now), style: () => 'dim' },
    { title: 'TYPE', of: ({ type }) => type, style: auditStyle },
    { title: 'ACTOR', of: ({ actor }) => actor, cut: 'end' },
    { title: 'ABOUT', of: ({ run_id: run, delivery_id: item }) => run ?? item ?? '', below: 2 },
    {
      title: 'DATA',
      of: ({ data }) => dataText(data),
      cut: 'end',
      least: 30,
      below: 1,
      style: () => 'dim',
    },
  ],
  plain: [
    ['id', (event) => event.id],
    ['at', (event) => event.at],
    ['type', (event) => event.type],
    ['actor', (event) => event.actor],
    ['run_id', (event) => event.run_id],
    ['data', (event) => JSON.stringify(event.data)],
    ['delivery_id', (event) => event.delivery_id],
  ],
}
