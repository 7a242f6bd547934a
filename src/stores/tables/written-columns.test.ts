/** Goal: a write sets what differs from the row as it was read; everything, if that is unknown. */
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import type { Run } from '../../domain/run.ts'
import type { Sql, Verb } from '../sql.ts'
import { writeDeliveries } from './delivery-table.ts'
import { writeRuns } from './run-table.ts'

function columnsOf(verb: Verb<unknown>): string[] {
  const { text } = verb.next().value as Sql
  const set = /SET ([\s\S]*?)\s+WHERE/.exec(text)?.[1] ?? ''
  return set.split(', ').map((column) => column.replace(' = ?', ''))
}

describe('a run', () => {
  const was = { id: 'run_1', rev: 4, state: 'pending', worker: null, reports: [] } as unknown as Run
  const next = { ...was, state: 'running', worker: 'w' } as const

  it('is written by what differs', () => {
    expect(columnsOf(writeRuns([next], { was: [was] }))).toEqual(['rev', 'state', 'worker'])
  })

  it('is written whole if it was not read, or as another revision', () => {
    const whole = columnsOf(writeRuns([next]))
    expect(whole.length).toBeGreaterThan(60)
    expect(columnsOf(writeRuns([next], { was: [{ ...was, rev: 3 }] }))).toEqual(whole)
    expect(columnsOf(writeRuns([next], { was: [{ ...was, id: 'run_2' }] }))).toEqual(whole)
  })

  it('takes a list that was made again for another one', () => {
    const reported = { ...was, reports: [] }
    expect(columnsOf(writeRuns([reported], { was: [was] }))).toEqual(['rev', 'reports'])
  })
})

describe('a delivery', () => {
  const was = { id: 'del_1', rev: 2, status: 'SENT', tries: 0, protocol: {} } as unknown as Delivery
  const first = { ...was, queue: null, waitsSince: null, turn: null, line: null, priority: 0 }
  const next = { ...first, tries: 1 }

  it('is written by what differs', () => {
    const columns = columnsOf(writeDeliveries([next], [first], null))
    expect(columns).toContain('tries')
    expect(columns.length).toBeLessThan(8)
  })

  it('is written whole if it was read as another revision', () => {
    const columns = columnsOf(writeDeliveries([next], [{ ...first, rev: 1 }], null))
    expect(columns.length).toBeGreaterThan(45)
  })
})
